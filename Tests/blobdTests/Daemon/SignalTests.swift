import Foundation
import Glibc
import TestSupport
import Testing

/// Signals that mean nothing. SIGHUP and SIGUSR1 ended the daemon without a line, and left its socket
/// behind; a write over the size limit of files ended it by SIGXFSZ.
@Suite(.waiting) struct SignalTests {
    @Test("No signal but those that stop it ends the daemon; SIGHUP is told of")
    func ignored() throws {
        let daemon = try DaemonProcess()
        var numbers = [
            SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGVTALRM, SIGPROF, SIGXFSZ, SIGWINCH,
            SIGURG, SIGCHLD, SIGCONT, SIGIO, SIGPWR, SIGHUP, 16 /* SIGSTKFLT */,
        ]
        // The real-time ones, without those that the C library keeps for itself.
        numbers += Array(34...64)
        for number in numbers {
            daemon.signal(number)
            #expect(try daemon.request("GET", "/livez").status == 200, "signal \(number)")
        }
        #expect(try daemon.put("1", [1]).status == 201)
        daemon.signal(SIGHUP)
        #expect(try daemon.request("GET", "/v1/notifications/1/payload").body == [1])
        #expect(daemon.stop() == 0)
        #expect(access(daemon.socketPath, F_OK) != 0)
        #expect(daemon.log.contains("SIGHUP: read again; no setting has changed"), "\(daemon.log)")
    }

    @Test("SIGHUP does not shorten a stop")
    func hangupWhileStopping() throws {
        let daemon = try DaemonProcess()
        var random = SeededGenerator(seed: 1)
        let body = random.bytes(8 << 20)
        #expect(try daemon.put("1", body).status == 201)
        let client = try daemon.connect()
        client.sendRequest("GET", "/v1/notifications/1/payload")
        try daemon.waitUntil("leases") { $0 == 1 }
        daemon.signal(SIGTERM)
        let patience = Patience()
        while access(daemon.socketPath, F_OK) == 0 {
            try patience.wait(orThrow: "the socket stays")
        }
        daemon.signal(SIGHUP)
        #expect(try client.answer().body == body)
        #expect(daemon.wait() == 0)
    }

    @Test(
        "Over the size limit of files the store is full, and reads and deletes go on",
        .enabled(if: access("/usr/bin/prlimit", X_OK) == 0, "needs prlimit"),
        arguments: [true, false])
    func fileSizeLimit(isLogging: Bool) throws {
        let daemon = try DaemonProcess(
            isLogging ? [] : ["--no-write-ahead-log"],
            under: ["/usr/bin/prlimit", "--fsize=\(12 << 20)"])
        var random = SeededGenerator(seed: 5)
        var stored: [(String, [UInt8])] = []
        var refused = 0
        for number in 0..<600 where refused < 20 {
            let body = random.bytes([700, 30_000, 200_000][number % 3])
            let answer = try daemon.put("\(number)", body)
            if answer.status == 201 {
                stored.append(("\(number)", body))
            } else {
                #expect(answer.status == 507 && answer.code == "full", "\(answer.text)")
                refused += 1
            }
        }
        #expect(refused == 20 && stored.count > 20)
        // What does not even fit the file that it is taken in with.
        #expect(try daemon.put("huge", random.bytes(20 << 20)).code == "full")
        #expect(try daemon.request("GET", "/readyz").status == 503)
        for (id, body) in stored {
            #expect(try daemon.request("GET", "/v1/notifications/\(id)/payload").body == body)
        }
        let gone = stored.prefix(stored.count * 2 / 3)
        for (id, _) in gone {
            #expect(try daemon.request("DELETE", "/v1/notifications/\(id)").status == 204)
        }
        let patience = Patience()
        while try daemon.request("GET", "/readyz").status != 200 {
            try patience.wait(orThrow: "it does not get ready again")
        }
        #expect(try daemon.put("again", random.bytes(30_000)).status == 201)
        #expect(daemon.stop() == 0)
        let verified = try blobd(["verify", "--data", daemon.dataPath])
        #expect(verified.status == 0, "\(verified.errors)")
    }

    @Test(
        "A limit under the size of the log leaves it out, with a word of it",
        .enabled(if: access("/usr/bin/prlimit", X_OK) == 0, "needs prlimit"))
    func noLog() throws {
        let daemon = try DaemonProcess(under: ["/usr/bin/prlimit", "--fsize=\(6 << 20)"])
        #expect(daemon.log.contains("No space for the write-ahead log"), "\(daemon.log)")
        #expect(try daemon.put("1", [1]).status == 201)
        #expect(daemon.stop() == 0)
    }
}
