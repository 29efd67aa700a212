import Glibc
import TestSupport
import Testing

/// What becomes of those who have connected when the daemon stops. The rest of a stop is in the table `stopping.txt`.
@Suite(.waiting) struct FirstRequestTests {
    /// One that was interrupted between its connect and its request was closed without an answer.
    @Test("Who has just connected is answered, and who says nothing is not waited for long")
    func fresh() throws {
        // The daemon waits for a second, which a busy machine may take longer to send the request.
        let patience = Patience()
        while try !isAnswered() { try patience.wait(orThrow: "nobody is answered") }
    }

    private func isAnswered() throws -> Bool {
        let daemon = try DaemonProcess(["--workers", "1", "--drain-timeout", "1h"])
        let served = try daemon.connect()
        #expect(try served.request("GET", "/livez").status == 200)
        let (fresh, silent) = (try daemon.connect(), try daemon.connect())
        try daemon.waitUntil("connections") { $0 == 4 }
        daemon.signal(SIGTERM)
        try daemon.wait(for: "the socket stays") { !Files.exists($0.socketPath) }
        let status = try? fresh.put("1", [1]).status
        #expect(status == 201 || status == nil)
        for client in [silent, served] { #expect(try client.isClosed()) }
        #expect(daemon.wait() == 0)
        return status == 201
    }
}
