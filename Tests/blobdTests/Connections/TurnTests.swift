import Glibc
import TestSupport
import Testing

/// One connection may send many requests before it reads an answer. All of them were answered before any other
/// connection was: a hundred that asked for statistics kept `/livez` waiting for half a minute.
@Suite(.waiting) struct TurnTests {
    private static let clientCount = 8

    @Test(
        "A connection is answered before the others' pipelined requests are through",
        arguments: [
            // More than one time slice of work, and so few that their answers fit in a socket's buffer: a client that does not
            // read stops nobody.
            ("/metrics", 10), ("/v1/stats", 40),
            ("/v1/users/u/notifications", 400), ("/v1/users/u/changes", 400),
        ])
    func flood(target: String, requestCount: Int) throws {
        let folder = TemporaryFolder()
        let log = folder.path("access.log")
        let daemon = try DaemonProcess(["--workers", "1", "--access-log", log], in: folder)
        let probe = try daemon.connect()
        let clients = try (0..<Self.clientCount).map { _ in try daemon.connect() }
        for client in [probe] + clients {
            #expect(try client.request("GET", "/livez").status == 200)
        }

        let requests = (0..<requestCount).flatMap { _ in httpRequest("GET", target) }
        // It finds all of them at once, the probe's last.
        daemon.signal(SIGSTOP)
        for client in clients { client.send(requests) }
        probe.sendRequest("GET", "/livez")
        daemon.signal(SIGCONT)
        #expect(try probe.answer().status == 200)
        for client in clients {
            for _ in 0..<requestCount { #expect(try client.answer().status == 200) }
        }
        // A worker's lines are in the order of its answers.
        #expect(daemon.stop() == 0)
        let lines = Files.text(log).split(separator: "\n")
        #expect(lines.count == 1 + Self.clientCount * (1 + requestCount) + 1)
        #expect(lines.last?.contains("\"target\":\"\(target)\"") == true)
    }
}
