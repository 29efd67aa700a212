import BlobProtocol
import TestSupport
import Testing

@testable import BlobClient

/// Fetching: whatever the pieces in which an answer arrives, its bytes come out as they were
/// stored, or an error does.
@Suite struct FetchingTests {
    @Test(arguments: [0, 1, 23, 24, 4_096])
    func anAnswerThatComesByteByByteIsRead(byteCount: Int) throws {
        let body = SeededGenerator.bytes(byteCount)
        let daemon = try ScriptedDaemon.greeting { peer in
            let request = try peer.readRequest()
            try peer.writeSlowly(ScriptedPeer.payloadAnswer(request.frame, body))
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        let payload = try connection.get("42")
        #expect(payload.bytes == body)
        #expect(payload.info.mediaType == "image/png")
        #expect(payload.info.revision == 7)
        #expect(payload.info.expiryMilliseconds == 2_000)
        #expect(daemon.wait() == nil)
    }

    @Test func aPayloadLargerThanEveryBufferAndWhatFitsIntoMemoryArrivesWhole() throws {
        let body = SeededGenerator.bytes(3 * InputBuffer.pieceByteCount + 17)
        let daemon = try ScriptedDaemon.greeting { peer in
            let request = try peer.readRequest()
            try peer.write(ScriptedPeer.payloadAnswer(request.frame, body))
        }
        var options = BlobConnection.Options()
        options.payloadByteCountMax = 1
        var connection = try BlobConnection.adopt(daemon.clientDescriptor, options: options)
        var pieces = 0
        var got: [UInt8] = []
        let info = try connection.get("42") { _, piece in
            pieces += 1
            piece.withUnsafeBytes { got.append(contentsOf: $0) }
        }
        #expect(got == body)
        #expect(info.byteCount == UInt64(body.count))
        #expect(pieces > 1)
        #expect(daemon.wait() == nil)
    }

    @Test func bytesThatDifferFromTheirDigestAreReported() throws {
        let body = SeededGenerator.bytes(1_000)
        var other = body
        other[999] ^= 1
        let expected = PayloadDigest(of: body.span.bytes)
        let got = PayloadDigest(of: other.span.bytes)
        let sent = other
        let daemon = try ScriptedDaemon.greeting { peer in
            let first = try peer.readRequest()
            let head = ScriptedPeer.payloadHead(digest: expected, byteCount: 1_000)
            try peer.answer(first.frame, 200, head: head, body: sent)
            let second = try peer.readRequest()
            try peer.write(ScriptedPeer.payloadAnswer(second.frame, body))
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        let error = thrown { _ = try connection.get("42") }
        #expect(error == .digestMismatch(expected: expected, got: got))
        // The answer was whole, so the next one is where it should be.
        #expect(try connection.get("42").bytes == body)
        #expect(daemon.wait() == nil)
    }

    /// The size of the whole payload was compared with the client's limit.
    @Test func aRangeWithinTheLimitIsTakenOfAPayloadThatIsNot() throws {
        let body = SeededGenerator.bytes(100)
        let daemon = try ScriptedDaemon.greeting { peer in
            for range in [10..<30, 70..<100] {
                let request = try peer.readRequest()
                let head = ScriptedPeer.payloadHead(
                    digest: PayloadDigest(of: body.span.bytes), byteCount: 100,
                    first: range.lowerBound)
                try peer.answer(request.frame, 206, head: head, body: Array(body[range]))
            }
        }
        var options = BlobConnection.Options()
        options.payloadByteCountMax = 20
        var connection = try BlobConnection.adopt(daemon.clientDescriptor, options: options)
        let payload = try connection.get("42", range: WireRange(first: 10, count: 20))
        #expect(payload.bytes == Array(body[10..<30]))
        #expect(payload.info.first == 10)
        let error = thrown { _ = try connection.get("42", range: WireRange(first: 70)) }
        #expect(error?.refusal?.status == 413)
        #expect(daemon.wait() == nil)
    }

    @Test func aCompressedBodyComesOutAsItWasGiven() throws {
        // 300,000 equal bytes: what comes out of one piece does not fit the inflating buffer once.
        let body = [UInt8](repeating: 0x61, count: 300_000)
        let packed = gzipped(body)
        let daemon = try ScriptedDaemon.greeting { peer in
            for slowly in [false, true] {
                let request = try peer.readRequest()
                let head = ScriptedPeer.payloadHead(
                    digest: PayloadDigest(of: body.span.bytes), byteCount: body.count, coding: .gzip
                )
                let answer = ScriptedPeer.answer(request.frame, 200, head: head, body: packed)
                if slowly { try peer.writeSlowly(answer) } else { try peer.write(answer) }
            }
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        #expect(try connection.get("42").bytes == body)
        #expect(try connection.get("42").bytes == body)
        #expect(daemon.wait() == nil)
    }

    @Test(arguments: ["cut", "flipped", "longer", "behind"])
    func aDamagedGzipStreamIsNotTaken(how: String) throws {
        let body = [UInt8](repeating: 0x61, count: 5_000)
        var packed = gzipped(body)
        var promised = body.count
        switch how {
        case "cut": packed.removeLast(9)
        case "flipped": packed[packed.count - 6] ^= 0x40
        case "longer": promised -= 1
        default: packed += [0x1F, 0x8B]
        }
        let (sent, count) = (packed, promised)
        let daemon = try ScriptedDaemon.greeting { peer in
            let request = try peer.readRequest()
            let head = ScriptedPeer.payloadHead(
                digest: PayloadDigest(of: body.span.bytes), byteCount: count, coding: .gzip)
            try peer.answer(request.frame, 200, head: head, body: sent)
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        let error = thrown { _ = try connection.get("42") }
        #expect(error?.isProtocolViolation == true)
        #expect(connection.failure != nil)
        #expect(daemon.wait() == nil)
    }

    @Test func aSinkThatThrowsLeavesAUsableConnection() throws {
        struct Enough: Error {}
        let body = SeededGenerator.bytes(1_000_000)
        let daemon = try ScriptedDaemon.greeting { peer in
            for _ in 0..<2 {
                let request = try peer.readRequest()
                try peer.write(ScriptedPeer.payloadAnswer(request.frame, body))
            }
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        var calls = 0
        #expect(throws: Enough.self) {
            try connection.get("42") { _, _ in
                calls += 1
                throw Enough()
            }
        }
        #expect(calls == 1)
        #expect(try connection.get("42").bytes == body)
        #expect(daemon.wait() == nil)
    }

    @Test func moreThanTheLimitIsNotTakenIntoMemory() throws {
        let body = SeededGenerator.bytes(2_000)
        let daemon = try ScriptedDaemon.greeting { peer in
            let request = try peer.readRequest()
            try peer.write(ScriptedPeer.payloadAnswer(request.frame, body))
        }
        var options = BlobConnection.Options()
        options.payloadByteCountMax = 1_999
        var connection = try BlobConnection.adopt(daemon.clientDescriptor, options: options)
        let error = thrown { _ = try connection.get("42") }
        #expect(error?.refusal?.status == 413)
        #expect(daemon.wait() == nil)
    }
}
