import Foundation
import Synchronization
import TestSupport
import Testing

/// `blobd dump` and `blobd load`.
@Suite(.waiting) struct DumpCommandTests {
    private static func fill(_ daemon: DaemonProcess) throws {
        var random = SeededGenerator(seed: 101)
        let client = try daemon.connect()
        let category = try client.request(
            "PUT", "/v1/categories/re%20ply?app=mail", ["Content-Type": "application/json"],
            body: Array(#"{"actions":[{"identifier":"open","title":"Open"}]}"#.utf8))
        #expect(category.status == 201, "\(category.text)")
        for number in 0..<30 {
            try client.put(
                "n\(number)", random.bytes(number * 700),
                query: "?owner=u\(number % 3)&title=T%C3%A9&message=m\(number)&app=mail")
        }
        // Of the same bytes, without any, and one that has expired when it is loaded.
        try client.put("same", random.bytes(100))
        try client.put("n31", [], type: "text/plain")
        let read = try client.request(
            "PATCH", "/v1/notifications/n3", ["Content-Type": "application/merge-patch+json"],
            body: Array(#"{"read":true,"action_state":"snoozed"}"#.utf8))
        #expect(read.status == 200)
    }

    /// What a dump and a load keep: everything but revision, times of creation and devices.
    private static func contents(_ daemon: DaemonProcess) throws -> [String] {
        let listed = try daemon.run("ls", "--json")
        #expect(listed.status == 0, "\(listed.errors)")
        return listed.text.split(separator: "\n").map { line in
            var line = String(line)
            for (name, quote) in [("created_at", "\""), ("revision", "")] {
                let value = jsonMember(line, name) ?? ""
                line = line.replacing("\"\(name)\":\(quote)\(value)\(quote)", with: "")
            }
            return line
        }
    }

    @Test("What is dumped is loaded elsewhere; tar reads it")
    func roundTrip() throws {
        let (daemon, other) = (try DaemonProcess(), try DaemonProcess())
        let folder = TemporaryFolder()
        try Self.fill(daemon)
        let dumped = try daemon.run("dump", "\(folder)/all.tar")
        #expect(dumped.status == 0, "\(dumped.errors)")
        #expect(dumped.text.hasPrefix("dumped 32 notifications and 31 payloads"))
        let (end, names, errors) = try run(["tar", "tf", "\(folder)/all.tar"])
        #expect(end.code == 0, "\(errors)")
        let lines = String(decoding: names, as: UTF8.self).split(separator: "\n")
        #expect(lines.first == "categories.jsonl" && lines.last == "notifications/00000001.jsonl")
        #expect(lines.count == 33)
        let loaded = try other.run("load", "\(folder)/all.tar")
        #expect(loaded.status == 0, "\(loaded.errors)")
        #expect(loaded.text == "loaded 32 notifications and 31 payloads\n")
        #expect(try Self.contents(daemon) == Self.contents(other))
        for id in ["n7", "n31", "same"] {
            let bytes = try daemon.run("get", id).output
            #expect(try other.run("get", id).output == bytes)
        }
        let categories = try other.request("GET", "/v1/categories/re%20ply?app=mail")
        #expect(categories.status == 200)
        // Once more changes nothing but revisions; by a pipe.
        let again = try other.run("load", "-", input: try Files.read("\(folder)/all.tar"))
        #expect(again.status == 0, "\(again.errors)")
        #expect(try Self.contents(daemon) == Self.contents(other))
    }

    // `dump` fetched payloads into memory, and so failed for those over 1 GiB, the client's limit.
    @Test("Payloads are dumped in bounded memory", .enabled(if: !hasSanitizer))
    func large() throws {
        let daemon = try DaemonProcess(["--max-payload", "256MiB"])
        let folder = TemporaryFolder()
        let byteCount = 200_000_000
        let shell = ["/bin/bash", "-c"]
        let environment = ["BLOBD_SOCKET": daemon.socketPath]
        let put = try run(
            shell + ["head -c \(byteCount) /dev/zero | \(DaemonProcess.program) put zeros -"],
            environment: environment)
        #expect(put.end == .exited(0), "\(put.errors)")
        let dumped = try run(
            shell + ["ulimit -v 150000; exec \(DaemonProcess.program) dump \(folder)/all.tar"],
            environment: environment)
        #expect(dumped.end == .exited(0), "\(dumped.errors)")
        let names = try run(["tar", "tvf", "\(folder)/all.tar"]).output
        #expect(String(decoding: names, as: UTF8.self).contains(" \(byteCount) "))
    }

    // A payload that was replaced behind the listing was taken for a notification that had gone: of 1,000 that were
    // there all the time 962 were left out, and the command succeeded.
    @Test("What is replaced while it is dumped is in the dump")
    func replaced() throws {
        let daemon = try DaemonProcess()
        let folder = TemporaryFolder()
        let count = 300
        var random = SeededGenerator(seed: 7)
        let client = try daemon.connect()
        for number in 0..<count { try client.put("n\(number)", random.bytes(3_000)) }
        let isOver = Atomic(false)
        let group = DispatchGroup()
        DispatchQueue(label: "publisher").async(group: group) {
            var random = SeededGenerator(seed: 8)
            guard let client = try? daemon.connect() else { return }
            // From the last one on: the dump comes to them later.
            while !isOver.load(ordering: .relaxed) {
                for number in (0..<count).reversed() {
                    _ = try? client.put("n\(number)", random.bytes(3_000))
                }
            }
        }
        for round in 0..<3 {
            let dumped = try daemon.run("dump", "\(folder)/\(round).tar")
            #expect(
                dumped.text.hasPrefix("dumped \(count) notifications"),
                "\(dumped.text)\(dumped.errors)")
        }
        isOver.store(true, ordering: .relaxed)
        group.wait()
    }

    @Test("Bad archives are refused by name")
    func badInput() throws {
        let daemon = try DaemonProcess()
        let folder = TemporaryFolder()
        try daemon.put("a", [UInt8](repeating: 1, count: 2_000))
        #expect(try daemon.run("dump", "\(folder)/a.tar").status == 0)
        let again = try daemon.run("dump", "\(folder)/a.tar")
        #expect(again.status == 2 && again.errors.contains("exists"))
        let bytes = try Files.read("\(folder)/a.tar")
        let short = try daemon.run("load", "-", input: Array(bytes.prefix(1_600)))
        #expect(short.status == 1 && short.errors.contains("standard input ends too early"))
        var foreign = bytes
        foreign[3] ^= 1
        let damaged = try daemon.run("load", "-", input: foreign)
        #expect(damaged.status == 1 && damaged.errors.contains("not a tar archive"))
        // A byte of the payload, which no checksum of tar covers.
        let start = try #require(bytes.firstRange(of: [UInt8](repeating: 1, count: 64)))
        var changed = bytes
        changed[start.lowerBound] = 2
        let wrong = try daemon.run("load", "-", input: changed)
        #expect(wrong.status == 1 && wrong.errors.contains("another digest"))
        // Dropped without a word, or published under another id.
        for (name, other, words) in [
            ("\"priority\"", "\"prioritx\"", "unknown member"), ("\"id\"", "\"ix\"", "has no id"),
            ("\"expires_at\"", "\"expires_ax\"", "has no expires_at"),
        ] {
            var changed = bytes
            let place = try #require(bytes.firstRange(of: Array(name.utf8)))
            changed.replaceSubrange(place, with: other.utf8)
            let refused = try daemon.run("load", "-", input: changed)
            #expect(refused.status == 1 && refused.errors.contains(words), "\(refused.errors)")
        }
        let none = try daemon.run("load", "\(folder)/none.tar")
        #expect(none.status == 2 && none.errors.contains("No such file"))
    }
}
