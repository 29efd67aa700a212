import Foundation
import Synchronization
import TestSupport
import Testing

@testable import blobd

/// SIGHUP reads the configuration again: what can change does, what cannot is named, and a mistake changes
/// nothing.
@Suite(.waiting) struct ReloadTests {
    /// A daemon with a file.
    private struct Site {
        let folder = TemporaryFolder()
        let daemon: DaemonProcess
        private let path: String

        init(_ yaml: String, _ arguments: [String] = []) throws {
            path = try folder.write("blobd.yaml", Array(yaml.utf8))
            daemon = try DaemonProcess(["--config", path] + arguments, in: folder)
        }

        func write(_ yaml: String) throws { try daemon.replace(path, yaml) }

        func reload(_ yaml: String, _ words: String) throws {
            try daemon.reload(path, yaml, words)
        }

        func put(_ byteCount: Int, _ query: String = "") throws -> Int {
            try daemon.request(
                "PUT", "/v1/notifications/1/payload\(query)", ["Content-Type": "image/png"],
                body: [UInt8](repeating: 1, count: byteCount)
            ).status
        }
    }

    @Test("Limits of payloads, lifetimes, conditions and quotas")
    func limitsOfRequests() throws {
        let site = try Site("max-payload: 1000\n")
        #expect(try site.put(1_000) == 201)
        #expect(try site.put(1_001) == 413)
        try site.reload("max-payload: 2KB\n", "max-payload: 2KB, was 1KB")
        #expect(try site.put(2_000) == 200)
        #expect(try site.put(2_001) == 413)
        #expect(try site.put(1, "?ttl=86400") == 200)
        try site.reload("max-ttl: 1h\nrequire-if-match: true\n", "max-ttl: 1h, was 30d")
        try site.daemon.waitForLog("max-payload: 64MiB, was 2KB")
        try site.daemon.waitForLog("require-if-match: true, was false")
        #expect(try site.put(60_000) == 200)
        #expect(try site.put(1, "?ttl=86400") == 400)
        let patch = try site.daemon.request(
            "PATCH", "/v1/notifications/1", body: Array(#"{"message":"x"}"#.utf8))
        #expect(patch.status == 428)
        // A quota below what is there refuses only growth.
        #expect(try site.daemon.put("2", [1]).status == 201)
        try site.reload("max-notifications: 1\n", "max-notifications: 1, was 0")
        let refused = try site.daemon.put("3", [1])
        #expect(refused.status == 507 && refused.member("used") == "2", "\(refused.text)")
        #expect(try site.put(3) == 200)
        try site.reload("max-notifications: 0\n", "max-notifications: 0, was 1")
        #expect(try site.daemon.put("3", [1]).status == 201)
        #expect(site.daemon.stop() == 0)
    }

    @Test("Watchers, connections, users and timeouts")
    func limitsOfConnections() throws {
        let site = try Site("")
        let kept = try site.daemon.connect()
        #expect(try kept.request("GET", "/livez").status == 200)
        try site.reload("max-watchers: 0\n", "max-watchers: 0, was 4096")
        #expect(
            try site.daemon.request("GET", "/v1/users/ann/changes?wait=1").status == 429)
        try site.reload("idle-timeout: 1ms\n", "idle-timeout: 1ms, was 75s")
        try site.daemon.waitForLog("max-watchers: 4096, was 0")
        // A connection that was idle ends by the new limit.
        #expect(try kept.isClosed())
        try site.reload("max-connections: 1\nallow-uid: 12345\n", "allow-uid: 12345, was not set")
        var only: RawClient? = try site.daemon.connect()
        #expect(try only?.request("GET", "/livez").status == 200)
        // A second one waits in the backlog until the first has gone.
        let second = try site.daemon.connect()
        second.sendRequest("GET", "/livez")
        #expect(try only?.request("GET", "/livez").status == 200)
        only = nil
        #expect(try second.answer().status == 200)
    }

    @Test("Memory, maintenance, the log's level and the rest of what can change")
    func everythingElse() throws {
        let site = try Site("log-level: error\n")
        let all = """
            body-memory: 1MiB
            answer-memory: 1MiB
            keep-free: 0
            sweep-interval: 10ms
            tombstone-retention: 1d
            heartbeat: 1s
            spin: 0
            drain-timeout: 1s
            head-timeout: 1h
            min-rate: 1KiB
            rate-window: 1h
            default-ttl: 1h
            profile: ios
            link-ttl: 1h
            """
        // Nothing is logged under the old level but what its reload says.
        try site.reload(all + "\nlog-level: info\n", "log-level: info, was error")
        for line in all.split(separator: "\n") {
            try site.daemon.waitForLog("\(line), was ")
        }
        #expect(try site.put(3 << 20) == 201)
        #expect(try site.put(1, "?ttl=1") == 200)
        let patience = Patience()
        while try site.daemon.statistic("expired") == 0 {
            try patience.wait(orThrow: "nothing expires")
        }
    }

    @Test("What needs a restart is named and stays; a flag precedes the file")
    func restart() throws {
        let site = try Site("workers: 1\n", ["--max-payload", "1000"])
        try site.reload(
            "workers: 2\nmap-size: 1TiB\nsocket-mode: 0600\nmax-payload: 5\n",
            "needs a restart: map-size: 1TiB, was 256GiB")
        try site.daemon.waitForLog("needs a restart: workers: 2, was 1")
        try site.daemon.waitForLog("needs a restart: socket-mode: 0600, was 0660")
        #expect(!site.daemon.log.contains("max-payload"))
        #expect(try site.put(1_000) == 201)
        // Said again as long as it is so.
        try site.reload("workers: 2\n", "needs a restart: workers: 2, was 1")
    }

    /// A reload that set such a setting for the first time ended the daemon with SIGILL.
    @Test("A setting that needs a restart and was not set is named, and stays unset")
    func newlySet() throws {
        let site = try Site("")
        let keys = try DeviceKeys.write("1", in: site.folder)
        let values = [
            "socket-group": "0", "device-socket": "\(site.folder)/d", "device-socket-group": "0",
            "zero-copy-grace": "1s", "replicate": "s3://bucket/a", "follow": "s3://bucket/a",
            "auto-promote": "20s", "local-bytes": "1MiB", "advertise": "host",
            "access-log": "\(site.folder)/access",
        ]
        let settings = Setting.all.filter { setting in
            setting.change == .atStart && !["data", "socket"].contains(setting.name)
                && setting.texts(Setting.unset).isEmpty
        }
        #expect(Set(settings.map(\.name)) == Set(values.keys))
        // One file cannot have both.
        for other in ["replicate", "follow"] {
            let given = values.filter { $0.key != other }
            let yaml = given.map { "\($0.key): \($0.value)\n" }.joined()
            let offset = site.daemon.log.utf8.count
            for _ in 0..<2 {
                // What a reload does not change is named by the next one, too.
                try site.reload(
                    "signing-keys: \(keys)\n" + yaml,
                    "needs a restart: advertise: host, was not set")
            }
            for (name, value) in given {
                try site.daemon.waitForLog(
                    "needs a restart: \(name): \(value), was not set", after: offset)
            }
        }
        #expect(!Files.exists("\(site.folder)/d") && !Files.exists("\(site.folder)/access"))
        #expect(try site.put(1) == 201)
        #expect(site.daemon.stop() == 0)
    }

    // It said that no setting had changed when a key was replaced under its id.
    @Test("Keys that were added, removed, replaced or put in another order are named")
    func keys() throws {
        func line(_ id: String, _ byte: UInt8) -> String {
            "\(id) \(Data(repeating: byte, count: 32).base64EncodedString())\n"
        }
        let folder = TemporaryFolder()
        let keys = try folder.write("keys", Array(line("1", 7).utf8))
        chmod(keys, 0o600)
        let yaml = "signing-keys: \(keys)\n"
        let site = try Site(yaml)
        func reload(_ lines: String..., says words: String) throws {
            try site.daemon.reload(keys, lines.joined(), "SIGHUP: signing keys: \(words)\n")
        }
        try reload(line("2", 8), line("1", 7), says: "added 2; now 2, 1")
        try reload(line("1", 7), line("2", 8), says: "now 1, 2")
        try reload(line("1", 9), line("2", 8), says: "replaced 1; now 1, 2")
        #expect(!site.daemon.log.contains("no setting changed"))
        try site.daemon.reload(keys, line("1", 9) + line("2", 8), "no setting changed")
        try reload(line("3", 9), line("2", 1), says: "added 3; removed 1; replaced 2; now 3, 2")
        try site.reload("max-payload: 1MB\n", "signing keys: removed 3, 2; now none\n")
        try site.reload(yaml, "signing keys: added 3, 2; now 3, 2\n")
        #expect(site.daemon.stop() == 0)
    }

    // The next sweep stayed where the old interval had put it.
    @Test("A shorter interval between sweeps holds at once")
    func sweeps() throws {
        let site = try Site("sweep-interval: 1d\n")
        #expect(try site.put(1, "?ttl=1") == 201)
        try site.reload("sweep-interval: 10ms\n", "sweep-interval: 10ms, was 1d")
        try site.daemon.waitUntil("expired") { $0 == 1 }
    }

    // They stayed as few as the start had left descriptors for.
    @Test("Descriptors that a lower max-connections leaves are for sockets that drain")
    func drainSlots() throws {
        var random = SeededGenerator(seed: 45)
        let folder = TemporaryFolder()
        let path = try folder.write("blobd.yaml", Array("workers: 1\nrate-window: 1h\n".utf8))
        let daemon = try DaemonProcess(["--config", path], in: folder, shell: "ulimit -n 128;")
        #expect(try daemon.put("big", random.bytes(2_000_000)).status == 201)
        // Of 68 descriptors, 8 are for files and 40 for draining, of which one user may have half.
        try daemon.reload(
            path, "workers: 1\nmax-connections: 20\nrate-window: 300ms\nmin-rate: 1MiB\n",
            "max-connections: 20, was 8192")
        let clients = try (0..<8).map { _ in try daemon.connectBinary() }
        for client in clients { client.send(try getFrame("big")) }
        try daemon.waitUntil("draining") { $0 == 8 }
        withExtendedLifetime(clients) {}
    }

    @Test("A mistake changes nothing, of the file and of the keys alike")
    func mistakes() throws {
        let site = try Site("max-payload: 1000\n")
        for (yaml, words) in [
            ("max-payload: 2000\nmax-paylod: 1\n", "2: max-paylod is not a setting"),
            ("max-payload: 2000\nmax-payload: 3000\n", "set twice"),
            ("max-payload: 2000\nworkers: -1\n", "workers is -1"),
            ("max-payload: \"2000\n", "unexpected end of stream"),
            ("max-payload: 2000\nsigning-keys: /nonexistent\n", "No such file"),
            ("", "is empty"), ("\n \n", "is empty"),
            // It kept the thread that accepts connections for minutes.
            (
                "max-payload: 2000\nworkers: " + String(repeating: "[", count: 100_000),
                "is nested more than 16 levels deep"
            ),
            (
                "max-payload: 2000\nworkers:\n" + String(repeating: " - ", count: 20_000) + "x\n",
                "is nested more than 16 levels deep"
            ),
        ] {
            try site.reload(yaml, words)
            #expect(try site.put(1_001) == 413, "\(yaml)")
        }
        unlink(site.folder.path("blobd.yaml"))
        site.daemon.signal(SIGHUP)
        #expect(try site.put(1_001) == 413)
        try site.reload("max-payload: 2000\n", "max-payload: 2KB, was 1KB")
        #expect(try site.put(2_000) == 201)
        try site.daemon.waitForLog("nothing has changed")
    }

    // It said that `data` needed a restart, and took the keys away from the device socket, which stayed open.
    @Test("A file that no start would accept, or that does not suit what runs, changes nothing")
    func unfitForStart() throws {
        let folder = TemporaryFolder()
        let keys = try DeviceKeys.write("1", in: folder)
        let (data, socket) = ("data: \(folder)/data\n", "socket: \(folder)/s\n")
        let device = "device-socket: \(folder)/d\n"
        let path = try folder.write(
            "blobd.yaml", Array((data + socket + device + "signing-keys: \(keys)\n").utf8))
        // Everything is in the file: the flags are the shell's.
        let daemon = try DaemonProcess(
            in: folder,
            under: ["/bin/sh", "-c", "exec '\(DaemonProcess.program)' serve --config '\(path)'"])
        #expect(try daemon.put("1", [1, 2, 3]).status == 201)
        let link = try blobd(["sign", "--signing-keys", keys, "1"]).text.dropLast()
        for (yaml, words) in [
            ("# c\n", "--data is missing"), (data, "--socket is missing"),
            (data + socket + device, "blobd.yaml:4: device-socket requires --signing-keys"),
            (data + socket, "until a restart, --device-socket requires --signing-keys"),
            (data + "socket: /\(String(repeating: "s", count: 107))\n", "the limit is 107"),
        ] {
            try daemon.reload(path, "max-payload: 1\n" + yaml, "; nothing has changed")
            #expect(daemon.log.contains(words), "\(daemon.log)")
            let fetched = try RawClient("\(folder)/d").request("GET", String(link))
            #expect(fetched.status == 200 && fetched.body == [1, 2, 3])
            #expect(try daemon.put("1", [1, 2, 3]).status == 200)
        }
        #expect(!daemon.log.contains("signing keys: ") && !daemon.log.contains("needs a restart"))
        #expect(daemon.stop() == 0)
    }

    @Test("A storm of SIGHUPs while requests run harms none of them")
    func storm() throws {
        let site = try Site("max-payload: 1MB\n")
        let body = [UInt8](repeating: 7, count: 50_000)
        #expect(try site.daemon.put("1", body).status == 201)
        let group = DispatchGroup()
        let reloads = Atomic(0)
        for index in 0..<4 {
            DispatchQueue(label: "client \(index)").async(group: group) {
                #expect(throws: Never.self) {
                    let client = try site.daemon.connect()
                    // Until there were some reloads, which a busy machine may hold up.
                    for number in 0..<100_000
                    where number < 250 || reloads.load(ordering: .relaxed) < 20 {
                        let get = try client.request("GET", "/v1/notifications/1/payload")
                        #expect(get.status == 200 && get.body == body)
                        let put = try client.request(
                            "PUT", "/v1/notifications/\(index)-\(number)/payload",
                            body: [1, 2, 3])
                        #expect(put.status == 201)
                    }
                }
            }
        }
        while group.wait(timeout: .now() + .milliseconds(1)) == .timedOut {
            let count = reloads.add(1, ordering: .relaxed).newValue
            try site.write(
                "max-payload: \(count % 2 + 1)MB\nspin: \(count % 9)\nheartbeat: \(count % 7 + 1)s\n"
            )
            site.daemon.signal(SIGHUP)
        }
        #expect(reloads.load(ordering: .relaxed) >= 20)
        try site.reload("max-payload: 5\n", "max-payload: 5, was")
        #expect(try site.put(6) == 413)
        #expect(site.daemon.stop() == 0)
        #expect(!site.daemon.log.contains("error"))
    }
}
