import BlobProtocol
import TestSupport
import Testing

@testable import BlobClient

/// What the daemon refuses comes back as its own words, and the connection goes on; what breaks the
/// protocol ends it.
@Suite struct RefusalTests {
    private static func problem(_ code: ErrorCode, _ detail: String) -> [UInt8] {
        var body: [UInt8] = []
        Problem.compose(ProtocolError(code, detail), into: &body)
        return body
    }

    @Test func errorsAreToldApartAndTheConnectionGoesOn() throws {
        let problems = [
            (ErrorCode.notFound, ""), (.expired, ""), (.badTTL, ""), (.full, ""),
            (.preconditionFailed, ",\"revision\":9"), (.preconditionFailed, ",\"revision\":null"),
            (.resync, ",\"history\":\"/v1/users/ann/notifications\""),
        ]
        let daemon = try ScriptedDaemon.greeting { peer in
            for (code, members) in problems {
                let request = try peer.readRequest()
                let text = """
                    {"title":"t","status":\(code.status),"code":"\(code.rawValue)",\
                    "detail":"because of \(code)"\(members)}
                    """
                try peer.answer(request.frame, code.status, body: Array(text.utf8))
            }
            let request = try peer.readRequest()
            try peer.write(ScriptedPeer.payloadAnswer(request.frame, [1, 2, 3]))
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        let errors = problems.map { _ in thrown { _ = try connection.get("42") } }
        func problem(
            _ code: ErrorCode, revision: UInt64? = nil, history: String? = nil
        ) -> DaemonProblem {
            DaemonProblem(
                status: Int(code.status), code: code.rawValue, title: "t",
                detail: "because of \(code)", revision: revision, history: history)
        }
        #expect(
            errors == [
                .notFound(problem(.notFound)), .expired(problem(.expired)),
                .refused(problem(.badTTL)), .refused(problem(.full)),
                .preconditionFailed(problem(.preconditionFailed, revision: 9)),
                .preconditionFailed(problem(.preconditionFailed)),
                .resync(problem(.resync, history: "/v1/users/ann/notifications")),
            ])
        #expect(errors[3].map { "\($0)" } == "because of full (507 full)")
        #expect(try connection.get("42").bytes == [1, 2, 3])
        #expect(daemon.wait() == nil)
    }

    @Test func aProblemThatIsNoJSONStillHasItsStatus() throws {
        let daemon = try ScriptedDaemon.greeting { peer in
            let request = try peer.readRequest()
            try peer.answer(request.frame, 500, body: Array("<html>".utf8))
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        let error = thrown { try connection.ping() }
        #expect(
            error == .refused(DaemonProblem(status: 500, code: "unknown", title: "Refused")))
        #expect(daemon.wait() == nil)
    }

    @Test func aRefusedHelloIsTold() throws {
        let daemon = try ScriptedDaemon { peer in
            let hello = try peer.readRequest()
            try peer.answer(hello.frame, 400, body: Self.problem(.version, "only version 9"))
        }
        let error = thrown { _ = try BlobConnection.adopt(daemon.clientDescriptor) }
        let problem = try #require(error?.refusal)
        #expect(problem.code == "version")
        #expect(daemon.wait() == nil)
    }

    /// The device socket was said to begin a frame with byte 72.
    @Test func anHTTPServerIsTold() throws {
        let daemon = try ScriptedDaemon { peer in
            _ = try peer.readRequest()
            try peer.write(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        }
        let error = thrown { _ = try BlobConnection.adopt(daemon.clientDescriptor) }
        #expect(error.map { "\($0)" }?.contains("the device socket") == true)
        #expect(daemon.wait() == nil)
    }

    @Test func aPutThatIsRefusedBeforeItsBytesAreReadIsTold() throws {
        // The daemon closes without reading the body, and the client is still sending it.
        let daemon = try ScriptedDaemon.greeting { peer in
            let header = try peer.read(Wire.frameHeaderByteCount)
            guard let frame = try RequestFrame.parse(header.span.bytes) else { return }
            try peer.answer(frame, 413, body: Self.problem(.payloadTooLarge, "the limit is 5"))
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        let body = SeededGenerator.bytes(4 << 20)
        let error = thrown { try connection.put(PutRequest(id: "42"), body.span.bytes) }
        let problem = try #require(error?.refusal)
        #expect(problem.code == "payload_too_large")
        #expect(problem.detail == "the limit is 5")
        #expect(daemon.wait() == nil)
    }

    @Test(arguments: [0, 10, 24, 60, 24 + 80 + 9, 24 + 80 + 9 + 50])
    func aConnectionThatEndsWithinAnAnswerIsClosed(byteCount: Int) throws {
        let body = SeededGenerator.bytes(100)
        let daemon = try ScriptedDaemon.greeting { peer in
            let request = try peer.readRequest()
            try peer.write(
                Array(ScriptedPeer.payloadAnswer(request.frame, body).prefix(byteCount)))
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        let error = thrown { _ = try connection.get("42") }
        #expect(error?.isClosed == true)
        // The connection remembers.
        let again = thrown { try connection.ping() }
        #expect(again?.isClosed == true)
        #expect(daemon.wait() == nil)
    }

    @Test(arguments: [
        "magic", "id", "opcode", "continues", "reserved", "headLength", "bodyLength", "head",
    ])
    func whatIsNoAnswerEndsTheConnection(what: String) throws {
        let body = SeededGenerator.bytes(100)
        let daemon = try ScriptedDaemon.greeting { peer in
            let request = try peer.readRequest()
            var answer = ScriptedPeer.payloadAnswer(request.frame, body)
            switch what {
            case "magic": answer[0] = 0x48
            case "id": answer[4] ^= 1
            case "opcode": answer[1] = Opcode.put.rawValue
            case "continues": answer[12] = 1
            case "reserved": answer[13] = 1
            case "headLength": answer[10] = 1
            case "bodyLength": answer[23] = 0xFF
            default: answer[24 + 72] = 9
            }
            try peer.write(answer)
        }
        var connection = try BlobConnection.adopt(daemon.clientDescriptor)
        let error = thrown { _ = try connection.get("42") }
        #expect(error?.isProtocolViolation == true)
        #expect(connection.failure?.endsConnection == true)
        #expect(daemon.wait() == nil)
    }

    @Test func aSilentDaemonIsATimeout() throws {
        let daemon = try ScriptedDaemon.greeting { peer in
            _ = try peer.readRequest()
            // Stays silent until the client has given up and gone.
            _ = try? peer.read(1)
        }
        do {
            var connection = try BlobConnection.adopt(daemon.clientDescriptor)
            // Not before hello is answered, which a busy machine may take longer for.
            connection.setTimeout(milliseconds: 50)
            #expect(thrown { try connection.ping() } == .timeout(milliseconds: 50))
        }
        #expect(daemon.wait() == nil)
    }

    @Test(arguments: [0, 108, 4_096])
    func aPathThatCannotBeASocketsIsRefusedWithTheLimit(byteCount: Int) {
        let path = String(repeating: "x", count: byteCount)
        let error = thrown { _ = try BlobConnection.connect(to: path) }
        #expect(error == .badSocketPath(path, byteCountMax: 107))
    }
}
