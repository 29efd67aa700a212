import BlobProtocol
import TestSupport
import Testing

@testable import BlobClient

/// Several requests on their way at once.
@Suite struct PipeliningTests {
    @Test func answersComeInTheOrderOfTheRequests() throws {
        let daemon = try ScriptedDaemon.greeting { peer in
            var answers: [UInt8] = []
            for index in 0..<64 {
                let request = try peer.readRequest()
                if index % 3 == 1 {
                    answers += ScriptedPeer.answer(request.frame, 404, body: Array("{}".utf8))
                } else {
                    answers += ScriptedPeer.payloadAnswer(
                        request.frame, [UInt8](repeating: UInt8(index), count: index))
                }
            }
            try peer.write(answers)
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        var requestIDs: [UInt32] = []
        for index in 0..<64 { requestIDs.append(try connection.queueGet("n\(index)")) }
        #expect(connection.unansweredCount == 64)
        try connection.flush()
        for index in 0..<64 {
            var got: [UInt8] = []
            let answer = try connection.receive { _, piece in
                piece.withUnsafeBytes { got.append(contentsOf: $0) }
                return true
            }
            #expect(answer.requestID == requestIDs[index])
            switch answer.outcome {
            case .payload(let info):
                #expect(index % 3 != 1)
                #expect(info.byteCount == UInt64(index))
                #expect(got == [UInt8](repeating: UInt8(index), count: index))
            case .failed(.notFound):
                #expect(index % 3 == 1)
            default:
                Issue.record("request \(index) came to \(answer.outcome)")
            }
        }
        #expect(connection.unansweredCount == 0)
        #expect(daemon.wait() == nil)
    }

    @Test func theDaemonsLimitHolds() throws {
        let daemon = try ScriptedDaemon.greeting(inFlightMax: 2) { peer in
            for _ in 0..<3 {
                let request = try peer.readRequest()
                try peer.answer(request.frame, 204, head: Array(repeating: 0, count: 16))
            }
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        _ = try connection.queueCall(.delete("1"))
        _ = try connection.queueCall(.delete("2"))
        let error = thrown { _ = try connection.queueCall(.delete("3")) }
        #expect(error == .tooManyUnanswered(limit: 2))
        _ = try connection.receive()
        _ = try connection.queueCall(.delete("3"))
        _ = try connection.receive()
        _ = try connection.receive()
        #expect(connection.unansweredCount == 0)
        #expect(daemon.wait() == nil)
    }

    @Test func twoSidesThatBothHaveMuchToSayDoNotWaitForEachOther() throws {
        // The daemon answers a get with more than fits the socket, and reads the put behind it only
        // then.
        let fetched = SeededGenerator.bytes(2 << 20)
        let stored = SeededGenerator.bytes(2 << 20, seed: 2)
        let daemon = try ScriptedDaemon.greeting { peer in
            let get = try peer.readRequest()
            try peer.write(ScriptedPeer.payloadAnswer(get.frame, fetched))
            let put = try peer.readRequest()
            guard put.body == stored else { throw TestFailure("another body") }
            var head: [UInt8] = []
            Put.Response(
                byteCount: UInt64(stored.count), storedByteCount: 1, expiryMilliseconds: 5,
                revision: 9, coding: .identity
            ).compose(
                digest: PayloadDigest(of: stored.span.bytes).bytes.span.bytes,
                id: Array("2".utf8).span.bytes, into: &head)
            try peer.answer(put.frame, 201, head: head)
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        _ = try connection.queueGet("1")
        _ = try connection.queuePut(PutRequest(id: "2"), stored.span.bytes)
        try connection.flush()
        var got: [UInt8] = []
        _ = try connection.receive { _, piece in
            piece.withUnsafeBytes { got.append(contentsOf: $0) }
            return true
        }
        #expect(got == fetched)
        guard case .stored(let receipt) = try connection.receive().outcome else {
            Issue.record("the put came to something else")
            return
        }
        #expect(receipt.isCreated)
        #expect(receipt.id == "2")
        #expect(daemon.wait() == nil)
    }

    @Test func whatTheDaemonWouldRefuseIsNotSent() throws {
        let daemon = try ScriptedDaemon.greeting { peer in
            let request = try peer.readRequest()
            try peer.answer(request.frame, 200)
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        let long = String(repeating: "x", count: 256)
        for (request, code) in [
            (PutRequest(id: long), ErrorCode.badID), (PutRequest(id: ""), .badID),
            (PutRequest(id: "a/b"), .badID), (PutRequest(id: "1", part: ""), .badPart),
            (PutRequest(id: "1", mediaType: "png"), .badMediaType),
            (PutRequest(id: "1", lifetime: .seconds(0)), .badTTL),
        ] {
            let error = thrown { try connection.put(request, [1].span.bytes) }
            #expect(error?.invalidInput?.code == code, "\(request)")
        }
        #expect(connection.unansweredCount == 0)
        try connection.ping()
        #expect(daemon.wait() == nil)
    }

    @Test func aPutWhoseSourceEndsEarlyStoresNothing() throws {
        let daemon = try ScriptedDaemon.greeting { peer in
            do {
                _ = try peer.readRequest()
            } catch is TestFailure {
                return  // The client went before all was there, as it should.
            }
            throw TestFailure("a whole request came")
        }
        do {
            var connection = try BlobConnection.adopt(daemon.clientDescriptor)
            var rest = 3
            let error = thrown {
                try connection.put(PutRequest(id: "1"), byteCount: 1_000) { piece in
                    guard rest > 0 else { return }
                    rest -= 1
                    piece.append(contentsOf: repeatElement(7, count: 100))
                }
            }
            #expect(error?.isSource == true)
            let again = thrown { try connection.ping() }
            #expect(again?.isClosed == true)
        }
        #expect(daemon.wait() == nil)
    }
}
