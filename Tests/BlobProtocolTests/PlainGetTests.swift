import Bytes
import Notifications
import TestSupport
import Testing

import BlobProtocol

/// The fetch of a whole payload is recognised by its words. The result must be that of the parsers.
@Suite struct PlainGetTests {
    private func bytes(
        _ id: String, part: String? = nil, flags: RequestFlags = [], range: WireRange? = nil,
        requestID: UInt32 = 0x1234_5678
    ) throws -> [UInt8] {
        var out: [UInt8] = []
        try RequestFrame.compose(.get, flags: flags, requestID: requestID, into: &out) {
            (head) throws(ProtocolError) in
            try Get.Request.compose(id: id, part: part, range: range, into: &head)
        }
        return out
    }

    /// Whether the frame was recognised; compares it with what the parsers find.
    private func isRecognised(_ bytes: [UInt8]) throws -> Bool {
        guard let get = PlainGet(bytes.span.bytes) else { return false }
        let frame = try #require(try RequestFrame.parse(bytes.span.bytes))
        #expect(frame.operation == .get && frame.bodyByteCount == 0, "\(bytes)")
        #expect(frame.requestID == get.requestID, "\(bytes)")
        #expect(frame.flags == (get.acceptsGzip ? .gzipAccepted : []), "\(bytes)")
        let end = Wire.frameHeaderByteCount + Int(frame.headByteCount)
        #expect(end == get.byteCount && end <= bytes.count, "\(bytes)")
        let id = text(get.id, in: bytes)
        let head = Array(bytes[Wire.frameHeaderByteCount..<end])
        do {
            let request = try Get.Request.parse(head.span.bytes, flags: frame.flags)
            #expect(text(request.id, in: head) == id, "\(bytes)")
            #expect(request.part.isEmpty && request.range == nil, "\(bytes)")
            #expect(request.range == nil, "\(bytes)")
        } catch {
            // The id is all that may be wrong.
            let idBytes = get.id.of(bytes.span.bytes).array()
            let fault = code { () throws(ProtocolError) in try TextKind.id.check(idBytes.span.bytes)
            }
            #expect(fault == error.code, "\(bytes)")
        }
        return true
    }

    @Test("Ids of every length are recognised, with the flag for gzip and without")
    func lengths() throws {
        for length in 1...255 {
            let id = String(repeating: "a", count: length)
            for flags in [[], .gzipAccepted] as [RequestFlags] {
                #expect(try isRecognised(try bytes(id, flags: flags)), "\(length)")
            }
        }
        var none = try bytes("a")
        none[8] = 24
        none[40] = 0
        #expect(try !isRecognised(Array(none.dropLast())))
    }

    @Test("A frame that is not whole is not recognised, whatever comes behind its end")
    func cut() throws {
        let frame = try bytes("42")
        for count in 0...frame.count {
            #expect(try isRecognised(Array(frame[..<count])) == (count == frame.count), "\(count)")
        }
        #expect(try isRecognised(frame + frame))
        #expect(try isRecognised(frame + [7]))
    }

    @Test("Every bit but those of the number, the flag for gzip and the id must be what it is")
    func everyBit() throws {
        let frame = try bytes("42") + [UInt8](repeating: 0x61, count: 300)
        for place in 0..<48 where !(4..<8).contains(place) {
            for bit in 0..<8 {
                var changed = frame
                changed[place] ^= 1 << bit
                let isFlag = place == 2 && bit == 0
                #expect(try isRecognised(changed) == isFlag, "bit \(bit) of byte \(place)")
            }
        }
    }

    @Test("Other fetches are left to the parsers")
    func others() throws {
        for frame in [
            try bytes("42", part: "payload"), try bytes("42", part: "icon"),
            try bytes("42", flags: .headOnly),
            try bytes("42", flags: .rangeGiven, range: WireRange(first: 0)),
            try bytes("42", flags: .rangeGiven, range: WireRange(first: 0, count: 1)),
        ] {
            #expect(try !isRecognised(frame), "\(frame)")
        }
    }
}
