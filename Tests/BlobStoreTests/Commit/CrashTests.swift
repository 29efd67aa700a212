import Glibc
import TestSupport
import Testing

@testable import BlobStore

@Suite struct CrashTests {
    /// The seeds of the rounds: ten, or as many as `BLOBD_TORTURE_ROUNDS` says.
    static let rounds: [UInt64] = {
        let asked = getenv("BLOBD_TORTURE_ROUNDS").flatMap { UInt64(String(cString: $0)) }
        return (1...max(1, min(asked ?? 10, 10_000))).map { $0 }
    }()

    @Test(
        "Killed at random under three publishers, the store has every acknowledged change",
        arguments: rounds)
    func killed(seed: UInt64) throws {
        let folder = TemporaryFolder()
        var generator = SeededGenerator(seed: seed)
        // A few lives of one store, each ended somewhere.
        var known: [String: String] = [:]
        for life in 0..<3 {
            let child = try Child(
                Child.torturer, ["run", folder.path, "\(seed * 10 + UInt64(life))", "3"])
            var lines: [String] = []
            for _ in 0..<Int.random(in: 1...120, using: &generator) {
                guard let line = child.readLine() else { break }
                lines.append(line)
            }
            child.kill()
            lines += child.readLines()
            #expect(child.wait() == .killed(signal: 9), "seed \(seed): \(lines.suffix(3))")
            try check(folder, lines, &known, "seed \(seed), life \(life)")
        }
    }

    /// Holds the store against what was said of it; `known` is what each id is since the last life.
    private func check(
        _ folder: TemporaryFolder, _ lines: [String], _ known: inout [String: String],
        _ name: String
    ) throws {
        var open: [String: Set<String>] = [:]
        for line in lines where line != "opened" {
            let words = line.split(separator: " ").map { String($0) }
            try #require(words.count == 3, "\(name): \(line)")
            if words[0] == "?" {
                open[words[1], default: []].insert(words[2])
            } else {
                open[words[1]]?.remove(words[2])
                known[words[1]] = words[2]
            }
        }
        let store = try folder.open()
        #expect(try store.verify().problems == [], "\(name)")
        for (id, state) in known.merging(
            open.filter { !$0.value.isEmpty }.mapValues { _ in "-" },
            uniquingKeysWith: { old, _ in old })
        {
            let record = try store.record(for: id, asOf: noon)
            let found = record.map { $0.parts[0].digest.description } ?? "-"
            let allowed = open[id, default: []].union([state])
            #expect(allowed.contains(found), "\(name): \(id) is \(found)")
            known[id] = found
        }
    }

    @Test(
        "Killed while the store is created, at every call that makes a name or syncs, the next opening works",
        arguments: 1...10)
    func killedWhileCreating(call: Int) throws {
        let library = try Faults.library()
        let folder = TemporaryFolder()
        let (lines, status) = try Child.run(
            Child.torturer, ["open", folder.path + "/data"],
            environment: [
                "LD_PRELOAD": library, "FAULT_KIND": "kill",
                "FAULT_CALL": "mkdir rename sync meta", "FAULT_AT": "\(call)",
            ])
        // There are some nine such calls; the last round or so opens undisturbed.
        #expect(lines == (status == .killed(signal: 9) ? [] : ["opened"]))
        var options = BlobStore.Options()
        options.mapByteCountMax = 1 << 30
        let store = try BlobStore.open(at: folder.path + "/data", options: options)
        try store.put("a", [1])
        #expect(!Files.exists(folder.path + "/data/store.new"))
        #expect(try store.verify().problems == [])
    }
}
