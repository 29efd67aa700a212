import BlobProtocol
import TestSupport
import Testing

/// A client that sends all of a body before it reads. It never saw why a long one was refused: the connection was
/// closed when 16 MiB of it had come.
@Suite(.waiting) struct LingeringTests {
    private static let bodyByteCount = 24 << 20

    @Test("A body over the limit is taken to its end, and the answer is there")
    func refused() throws {
        let daemon = try DaemonProcess(["--max-payload", "1MB"])
        let client = try daemon.connect()
        let body = [UInt8](repeating: 1, count: Self.bodyByteCount)
        client.sendRequest("PUT", "/v1/notifications/1/payload", body: body)
        let answer = try client.answer()
        #expect(answer.status == 413 && answer["Connection"] == "close")
        #expect(try client.isClosed())
        let binary = try daemon.connectBinary()
        binary.send(try putFrame(Put.Draft(id: "1"), body: body))
        #expect(try binary.frameAnswer().status == 413)
        #expect(try binary.isClosed())
        #expect(try daemon.request("GET", "/v1/notifications/1").status == 404)
    }
}
