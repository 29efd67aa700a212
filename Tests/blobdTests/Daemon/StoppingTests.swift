import BlobProtocol
import Glibc
import TestSupport
import Testing

/// Starting, stopping, and starting again.
@Suite(.waiting) struct StoppingTests {
    @Test("SIGTERM ends with 0, the socket goes, and the next start finds everything")
    func restart() throws {
        let folder = TemporaryFolder()
        for round in 0..<3 {
            let daemon = try DaemonProcess(in: folder)
            for earlier in 0..<round {
                let answer = try daemon.request("GET", "/v1/notifications/\(earlier)/payload")
                #expect(answer.body == [UInt8(earlier)])
            }
            #expect(try daemon.put("\(round)", [UInt8(round)]).status == 201)
            #expect(daemon.stop() == 0)
            #expect(access(daemon.socketPath, F_OK) != 0)
        }
    }

    @Test("SIGINT stops as well")
    func interrupt() throws {
        let daemon = try DaemonProcess()
        daemon.signal(SIGINT)
        #expect(daemon.wait() == 0)
    }

    @Test("Answers under way are finished before the end; idle connections are not waited for")
    func underWay() throws {
        let daemon = try DaemonProcess()
        var random = SeededGenerator(seed: 11)
        let body = random.bytes(5_000_000)
        try daemon.put("big", body)
        let idle = try daemon.connect()
        let reader = try daemon.connectBinary()
        reader.send(try getFrame("big"))
        try daemon.waitUntil("leases") { $0 == 1 }
        let writer = try daemon.connect()
        writer.send(
            "PUT /v1/notifications/w/payload HTTP/1.1\r\nHost: b\r\nContent-Length: 6\r\n\r\nabc")
        try daemon.waitUntil("body_memory_bytes") { $0 > 0 }
        daemon.signal(SIGTERM)
        #expect(try idle.isClosed())
        writer.send("def")
        let stored = try writer.answer()
        #expect(stored.status == 201 && stored["Connection"] == "close")
        #expect(try reader.frameAnswer().body == body)
        #expect(try reader.isClosed())
        #expect(daemon.wait() == 0)
    }

    // A client that was interrupted between its connect and its request was closed without an answer.
    @Test("Who has just connected is answered; who says nothing is not waited for long")
    func firstRequest() throws {
        let daemon = try DaemonProcess(["--workers", "1", "--drain-timeout", "1h"])
        let served = try daemon.connect()
        #expect(try served.request("GET", "/livez").status == 200)
        let (fresh, silent) = (try daemon.connect(), try daemon.connect())
        try daemon.waitUntil("connections") { $0 == 4 }
        daemon.signal(SIGTERM)
        let patience = Patience()
        while access(daemon.socketPath, F_OK) == 0 {
            try patience.wait(orThrow: "the socket stays")
        }
        #expect(
            try fresh.request("PUT", "/v1/notifications/1/payload", body: [1]).status == 201)
        #expect(try silent.isClosed() && served.isClosed())
        #expect(daemon.wait() == 0)
    }

    @Test("A second SIGTERM does not wait for slow clients")
    func requestCommit() throws {
        let daemon = try DaemonProcess(["--drain-timeout", "1h"])
        try daemon.put("big", .init(repeating: 1, count: 5_000_000))
        let reader = try daemon.connectBinary()
        reader.send(try getFrame("big"))
        try daemon.waitUntil("leases") { $0 == 1 }
        daemon.signal(SIGTERM)
        let patience = Patience()
        while access(daemon.socketPath, F_OK) == 0 {
            try patience.wait(orThrow: "the socket stays")
        }
        daemon.signal(SIGTERM)
        #expect(daemon.wait() == 0)
    }

    @Test("The socket of a daemon that was killed is replaced")
    func stale() throws {
        let folder = TemporaryFolder()
        let first = try DaemonProcess(in: folder)
        try first.put("1", [1])
        first.signal(SIGKILL)
        first.wait()
        #expect(access(first.socketPath, F_OK) == 0)
        let second = try DaemonProcess(in: folder)
        #expect(try second.request("GET", "/v1/notifications/1/payload").body == [1])
    }

    @Test("A second daemon is refused, for the data and for the socket, and the first goes on")
    func second() throws {
        let daemon = try DaemonProcess()
        let sameData = try blobd([
            "serve", "--data", daemon.dataPath, "--socket",
            "\(daemon.folder)/other",
        ])
        #expect(sameData.status == 1)
        #expect(sameData.errors.contains(daemon.dataPath), "\(sameData.errors)")
        #expect(access("\(daemon.folder)/other", F_OK) != 0)
        let sameSocket = try blobd([
            "serve", "--data", "\(daemon.folder)/data2", "--socket",
            daemon.socketPath,
        ])
        #expect(sameSocket.status == 1)
        #expect(sameSocket.errors.contains("another process listens on it"))
        #expect(try daemon.request("GET", "/healthz").status == 200)
    }

    @Test("A socket that another has put in its place is not removed")
    func replacedSocket() throws {
        let daemon = try DaemonProcess()
        unlink(daemon.socketPath)
        close(open(daemon.socketPath, O_CREAT | O_WRONLY, 0o600))
        #expect(daemon.stop() == 0)
        #expect(access(daemon.socketPath, F_OK) == 0)
    }

    @Test("The socket has the mode that was asked for")
    func mode() throws {
        for (arguments, mode) in [([], 0o660), (["--socket-mode", "0600"], 0o600)] {
            let daemon = try DaemonProcess(arguments)
            var status = stat()
            #expect(lstat(daemon.socketPath, &status) == 0)
            #expect(Int(status.st_mode) & 0o7777 == mode)
        }
    }
}
