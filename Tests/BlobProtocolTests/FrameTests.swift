import Testing

import BlobProtocol

/// The 24-byte headers of requests and responses.
@Suite struct FrameTests {
    static let request = RequestFrame(
        .put, flags: [.ttlGiven, .idAssigned], requestID: 0x0403_0201, headByteCount: 0x1234,
        bodyByteCount: 0x0807_0605_0403_0201)
    static let requestBytes: [UInt8] = [
        0xB1, 3, 5, 0, 1, 2, 3, 4, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8,
    ]
    static let response = ResponseFrame(
        opcode: 4, status: 206, requestID: .max, headByteCount: 8_192, bodyByteCount: .max)
    static let responseBytes: [UInt8] =
        [0xB2, 4, 206, 0, 255, 255, 255, 255, 0, 0x20, 0, 0, 0, 0, 0, 0]
        + Array(repeating: 255, count: 8)

    @Test("Headers have their golden bytes, and parse back whatever follows")
    func golden() throws {
        var bytes: [UInt8] = []
        Self.request.compose(into: &bytes)
        #expect(bytes == Self.requestBytes)
        let following = bytes + [1, 2, 3]
        let parsed = try RequestFrame.parse(following.span.bytes)
        #expect(parsed == Self.request)

        bytes = []
        Self.response.compose(into: &bytes)
        #expect(bytes == Self.responseBytes)
        let parsedResponse = try ResponseFrame.parse(bytes.span.bytes)
        #expect(parsedResponse == Self.response)

        var continued = Self.response
        continued.continues = true
        bytes = []
        continued.compose(into: &bytes)
        var expected = Self.responseBytes
        expected[12] = 1
        #expect(bytes == expected)
        let parsedContinued = try ResponseFrame.parse(bytes.span.bytes)
        #expect(parsedContinued == continued)
        for (offset, value) in [(12, 2), (13, 1), (15, 1)] {
            var changed = Self.responseBytes
            changed[offset] = UInt8(value)
            #expect((try? ResponseFrame.parse(changed.span.bytes)) == nil)
        }
    }

    @Test("Byte by byte, a header wants more until it is whole")
    func byteByByte() throws {
        for count in 0..<24 {
            let request = Array(Self.requestBytes[..<count])
            let response = Array(Self.responseBytes[..<count])
            let parsedRequest = try RequestFrame.parse(request.span.bytes)
            let parsedResponse = try ResponseFrame.parse(response.span.bytes)
            #expect(parsedRequest == nil && parsedResponse == nil)
        }
    }

    /// The header with one byte changed: what it is refused for, and the request id of the refusal.
    private func refusal(_ offset: Int, _ value: UInt8) -> (code: ErrorCode, requestID: UInt32)? {
        var bytes = Self.requestBytes
        bytes[offset] = value
        do throws(FrameError) {
            _ = try RequestFrame.parse(bytes.span.bytes)
            return nil
        } catch {
            return (error.problem.code, error.requestID)
        }
    }

    @Test("A wrong first byte is refused at once, before the header is whole")
    func magic() {
        for byte in UInt8.min...UInt8.max where byte != Wire.requestMagic {
            let bytes = [byte]
            var problem: FrameError?
            do throws(FrameError) { _ = try RequestFrame.parse(bytes.span.bytes) } catch {
                problem = error
            }
            #expect(problem?.problem.code == .malformed && problem?.requestID == 0)
        }
    }

    @Test("Reserved bytes, unknown flags and long heads end the connection, with the request's id")
    func refused() {
        for offset in 12..<16 {
            let found = refusal(offset, 1)
            #expect(found?.code == .reserved && found?.requestID == 0x0403_0201)
        }
        #expect(refusal(2, 8)?.code == .reserved)
        #expect(refusal(3, 1)?.code == .reserved)
        #expect(refusal(9, 0x20)?.code == .malformed)
        #expect(refusal(11, 0xFF)?.code == .malformed)
    }

    @Test("Flags belong to operations; those of an unknown one are not judged")
    func flags() {
        for opcode in UInt8.min...UInt8.max {
            for bit in 0..<16 {
                let frame = RequestFrame(
                    opcode: opcode, flags: RequestFlags(rawValue: 1 << bit), requestID: 1,
                    headByteCount: 0, bodyByteCount: 0)
                var bytes: [UInt8] = []
                frame.compose(into: &bytes)
                let parsed = try? RequestFrame.parse(bytes.span.bytes)
                let isKnown = Opcode(rawValue: opcode) != nil
                // Besides, the bodies of put and call may be coded, and changes may wait for the bucket.
                let hasFlags =
                    ([3, 4, 5].contains(opcode) && bit < 3)
                    || ([4, 5].contains(opcode) && bit == 3)
                    || ([3, 5].contains(opcode) && [4, 5].contains(bit))
                #expect((parsed != nil) == (!isKnown || hasFlags))
            }
        }
    }

    @Test("A header and its head are composed together, or not at all")
    func together() throws {
        var out: [UInt8] = [9]
        try RequestFrame.compose(.get, requestID: 5, into: &out) { head throws(ProtocolError) in
            try Get.Request.compose(id: "ab", into: &head)
        }
        #expect(out.count == 1 + 24 + 26 && out[9] == 26)
        let before = out
        for id in ["", "a/b"] {
            let problem = code { () throws(ProtocolError) in
                try RequestFrame.compose(.get, requestID: 5, into: &out) {
                    head throws(ProtocolError) in
                    head.append(1)
                    try Get.Request.compose(id: id, into: &head)
                }
            }
            #expect(problem == .badID)
            #expect(out == before)
        }
        let problem = code { () throws(ProtocolError) in
            try RequestFrame.compose(.ping, requestID: 5, into: &out) {
                head throws(ProtocolError) in
                head.append(contentsOf: Array(repeating: 0, count: 8_193))
            }
        }
        #expect(problem == .malformed)
        #expect(out == before)
    }

    @Test("The first byte tells the dialect")
    func dialect() {
        for byte in UInt8.min...UInt8.max {
            let expected: Dialect =
                switch byte {
                case 0xB1: .binary
                case 0x41...0x5A, 0x0A, 0x0D: .http
                default: .unknown
                }
            #expect(Dialect(firstByte: byte) == expected)
        }
    }
}
