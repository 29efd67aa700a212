import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

/// `blobd backup` alongside a daemon that publishes, and `blobd restore`.
@Suite(.waiting) struct BackupCommandTests {
    private static func restored(_ file: String) throws -> DaemonProcess {
        let folder = TemporaryFolder()
        let result = try blobd(["restore", file, "--data", "\(folder)/data"])
        #expect(result.status == 0, "\(result.errors)")
        return try DaemonProcess(in: folder)
    }

    /// Each publishes one notification after the other, and counts them.
    private final class Publishers: Sendable {
        static let count = 4

        struct Count {
            var begun = 0
            var done = 0
        }

        let counts = Mutex([Count](repeating: Count(), count: Publishers.count))
        let isStopped = Atomic(false)

        func publish(to daemon: DaemonProcess, as publisher: Int) throws {
            let client = try daemon.connect()
            for number in 0..<100_000 {
                if isStopped.load(ordering: .relaxed) { return }
                counts.withLock { $0[publisher].begun = number + 1 }
                let answer = try client.put(
                    "\(publisher)-\(number)", Self.body(publisher, number))
                #expect(answer.status == 201)
                counts.withLock { $0[publisher].done = number + 1 }
            }
        }

        static func body(_ publisher: Int, _ number: Int) -> [UInt8] {
            Array("publisher \(publisher), number \(number), ".utf8)
                + [UInt8](repeating: UInt8(number & 0xFF), count: 3_000)
        }
    }

    @Test(
        "A backup has all that was acknowledged before, nothing that began behind it, and no holes")
    func besidePublishers() throws {
        let daemon = try DaemonProcess()
        let folder = TemporaryFolder()
        let publishers = Publishers()
        var (before, behind): ([Publishers.Count], [Publishers.Count]) = ([], [])
        let group = DispatchGroup()
        for index in 0..<Publishers.count {
            DispatchQueue(label: "publisher \(index)").async(group: group) {
                do { try publishers.publish(to: daemon, as: index) } catch { Issue.record(error) }
            }
        }
        let patience = Patience()
        while publishers.counts.withLock({ $0.contains { $0.done < 50 } }) {
            try patience.wait(orThrow: "nobody publishes")
        }
        before = publishers.counts.withLock { $0 }
        let result = try daemon.run("backup", "\(folder)/b")
        behind = publishers.counts.withLock { $0 }
        publishers.isStopped.store(true, ordering: .relaxed)
        group.wait()
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.hasPrefix("backed up revision "))
        let copy = try Self.restored("\(folder)/b")
        let client = try copy.connect()
        for publisher in 0..<Publishers.count {
            var count = 0
            while true {
                let id = "\(publisher)-\(count)"
                let answer = try client.request("GET", "/v1/notifications/\(id)/payload")
                if answer.status == 404 { break }
                #expect(answer.body == Publishers.body(publisher, count))
                count += 1
            }
            #expect(count >= before[publisher].done && count <= behind[publisher].begun)
            // Nothing after the first that is missing.
            for number in count..<behind[publisher].begun + 10 {
                let id = "\(publisher)-\(number)"
                let status = try client.request("GET", "/v1/notifications/\(id)/payload").status
                #expect(status == 404, "\(id)")
            }
        }
    }

    @Test("A slow client holds the payloads of its moment, and up no other backup; a stop cuts it")
    func slowClient() throws {
        let daemon = try DaemonProcess()
        var random = SeededGenerator(seed: 83)
        for id in ["a", "b"] { try daemon.put(id, random.bytes(6_000_000)) }
        func stalled() throws -> RawClient {
            let client = try daemon.connect()
            client.sendRequest("GET", "/v1/backup")
            let head = try client.receive(upTo: Array("\r\n\r\n".utf8))
            guard head.starts(with: "HTTP/1.1 200 ".utf8) else {
                throw TestFailure(String(decoding: head, as: UTF8.self))
            }
            return client
        }
        let slow = try stalled()
        let folder = TemporaryFolder()
        #expect(try daemon.run("backup", "\(folder)/b").status == 0)
        do {
            // The thread of the one before may be about to end.
            let patience = Patience()
            var others: [RawClient] = []
            while others.count < 3 {
                if let other = try? stalled() { others.append(other) }
                try patience.wait(orThrow: "the backup before never ends")
            }
            let refused = try daemon.request("GET", "/v1/backup")
            #expect(refused.status == 503 && refused.code == "unavailable")
            #expect(refused.member("detail") == "4 backups are being taken; that is the limit")
        }
        for id in ["a", "b"] {
            #expect(try daemon.request("DELETE", "/v1/notifications/\(id)").status == 204)
        }
        try daemon.put("c", [1])
        try daemon.waitUntil("orphan_bytes") { $0 == 12_000_000 }
        daemon.signal(SIGTERM)
        // Not a byte is read before the daemon has hung up: else it could send all of it meanwhile.
        var hangUp = pollfd(fd: slow.descriptor, events: 0x2000 /* POLLRDHUP */, revents: 0)
        #expect(poll(&hangUp, 1, Patience.milliseconds) == 1)
        // Cut before the last chunk.
        let rest = try slow.receiveAll()
        #expect(!rest.suffix(5).elementsEqual("0\r\n\r\n".utf8))
        #expect(daemon.wait() == 0)
    }

    @Test("When a client goes away, what its backup held is freed, and another can be taken")
    func goneClient() throws {
        let daemon = try DaemonProcess()
        let folder = TemporaryFolder()
        var random = SeededGenerator(seed: 89)
        try daemon.put("a", random.bytes(6_000_000))
        do {
            let slow = try daemon.connect()
            slow.sendRequest("GET", "/v1/backup")
            _ = try slow.receive(upTo: Array("\r\n\r\n".utf8))
            #expect(try daemon.request("DELETE", "/v1/notifications/a").status == 204)
        }
        try daemon.waitUntil("orphan_bytes") { $0 == 0 }
        let patience = Patience()
        while try daemon.run("backup", "\(folder)/b").status != 0 {
            try patience.wait(orThrow: "the first backup never ends")
        }
        #expect(Files.exists("\(folder)/b"))
    }

    /// Runs a command that is killed when it makes a system call for the nth time.
    private func expectKilled(_ arguments: [String], at call: String, _ number: Int) throws {
        let pid = try spawn(
            [
                "/usr/bin/strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                "inject=\(call):signal=KILL:when=\(number)", DaemonProcess.program,
            ] + arguments)
        #expect(reap(pid) == .killed(signal: SIGKILL), "no \(call) \(number)")
    }

    @Test(
        "A backup that is killed leaves nothing, or all of it",
        .enabled(if: Machine.canTrace, "needs strace"))
    func killed() throws {
        let daemon = try DaemonProcess()
        var random = SeededGenerator(seed: 97)
        for id in 0..<8 { try daemon.put("\(id)", random.bytes(100_000)) }
        let folder = TemporaryFolder()
        // Its name is given before the folder is synced.
        for (call, number) in [
            ("write", 1), ("write", 9), ("fsync", 1), ("linkat", 1), ("fsync", 2),
        ] {
            #expect(folder.names.isEmpty, "\(call) \(number)")
            try expectKilled(
                ["backup", "\(folder)/b", "--socket", daemon.socketPath], at: call, number)
        }
        #expect(folder.names == ["b"])
        let result = try blobd(["restore", "\(folder)/b", "--data", "\(folder)/data"])
        #expect(result.status == 0, "\(result.errors)")
    }

    @Test(
        "Compacting needs a stopped daemon; killed, it leaves the old file or the new",
        .enabled(if: Machine.canTrace, "needs strace"))
    func compacting() throws {
        let folder = TemporaryFolder()
        var random = SeededGenerator(seed: 113)
        var bodies: [[UInt8]] = []
        do {
            let daemon = try DaemonProcess(in: folder)
            for id in 0..<6 {
                bodies.append(random.bytes(150_000))
                try daemon.put("\(id)", bodies[id])
                try daemon.put("gone-\(id)", random.bytes(150_000))
            }
            for id in 0..<6 {
                #expect(try daemon.request("DELETE", "/v1/notifications/gone-\(id)").status == 204)
            }
            let busy = try blobd(["compact", "--data", daemon.dataPath])
            #expect(busy.status == 1 && busy.errors.contains("another process uses it"))
            #expect(daemon.stop() == 0)
        }
        let data = "\(folder)/data"
        for (call, number) in [
            ("write", 1), ("pwrite64", 2), ("pwrite64", 5), ("fsync", 1), ("rename", 1),
        ] {
            try expectKilled(["compact", "--data", data], at: call, number)
            let verified = try blobd(["verify", "--data", data])
            #expect(verified.status == 0, "\(call) \(number): \(verified.errors)")
        }
        let result = try blobd(["compact", "--data", data, "--json"])
        #expect(result.status == 0, "\(result.errors)")
        let after = try #require(jsonMember(result.text, "bytes_after").flatMap { Int($0) })
        #expect(after < 1_100_000 && after >= 900_000, "\(result.text)")
        let daemon = try DaemonProcess(in: folder)
        for (id, body) in bodies.enumerated() {
            #expect(try daemon.request("GET", "/v1/notifications/\(id)/payload").body == body)
        }
        try daemon.put("new", [1])
        #expect(daemon.stop() == 0)
        #expect(try blobd(["verify", "--data", data]).status == 0)
        let none = try blobd(["compact", "--data", "\(folder)/none"])
        #expect(none.status == 1 && none.errors.contains("it has no data.mdb"))
        symlink("loop", "\(folder)/loop")
        for command in [["compact"], ["backup", "\(folder)/copy"]] {
            let unknown = try blobd(command + ["--data", "\(folder)/loop"])
            #expect(unknown.status == 1 && !unknown.errors.contains("no store"))
            #expect(!unknown.errors.contains("has no"), "\(unknown.errors)")
        }
    }
}
