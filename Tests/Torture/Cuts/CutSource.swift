import BlobClient
import Glibc
import TestSupport

/// A store of which a part is in the write-ahead log only, and a backup that was taken before that. Publishers are at
/// work all the time.
struct CutSource {
    /// Where both lie.
    private let folder: String
    /// What the backup has, and what the store has, as changes from before.
    private(set) var backedUp: [String: [SentChange]] = [:]
    private(set) var stored: [String: [SentChange]] = [:]
    private(set) var figures: [String] = []

    var backup: String { folder + "/backup" }
    var store: String { folder + "/source" }

    /// Makes both.
    ///
    /// - Parameters:
    ///   - ids: how many notifications each of the publishers has.
    ///   - backups: how many backups are restored and compared, one after the other.
    ///   - kills: how many are killed before.
    init(
        _ bench: inout Workbench, in folder: String, publishers: Int, ids: Int, backups: Int,
        kills: Int
    ) throws {
        self.folder = folder
        var daemon = try DaemonUnderTest.serving(bench, data: store)
        let crowd = (0..<publishers).map { number in
            var plan = Publisher.Plan()
            plan.idCount = ids
            plan.byteCounts = 100...100_000
            // One change at a time, so that of each publisher there is one state at a time.
            plan.pipelineMax = 1
            plan.ledger = Ledger(keepsHistory: true)
            plan.sharedPercent = 0
            return Publisher(number: number, plan: plan)
        }
        let stop = StopSign()
        let threads = try Publisher.start(crowd, at: [bench.socket], seed: bench.seed, until: stop)
        defer { stop.putUp() }
        try Self.wait(for: 2 * ids, more: crowd)
        var wholeCount = 0
        for _ in 0..<kills {
            let pause = Int.random(in: 0..<600_000, using: &bench.generator)
            wholeCount += try killBackup(afterMicroseconds: pause, bench) ? 1 : 0
        }
        var compared = 0
        for _ in 0..<backups {
            try backUp(crowd, bench)
            compared += backedUp.count
        }
        try Self.wait(for: ids, more: crowd)
        // One sync for many: those who wait meanwhile share the next one.
        var connection = try daemon.connect()
        let syncs = try statistic("syncs", &connection)
        let changes = Publisher.acknowledgedCount(crowd)
        try require(
            4 * changes >= 5 * syncs,
            "\(syncs) syncs for \(changes) changes of \(publishers) publishers")
        daemon.kill()
        stop.putUp()
        try threads.join()
        for publisher in crowd {
            stored.merge(publisher.ledger.changes.mapValues { Expectation($0, at: .max).before }) {
                $1
            }
        }
        figures = [
            "\(backups) backups beside \(publishers) publishers, \(compared) notifications compared",
            "\(changes) changes, \(syncs) syncs",
            "\(kills) backups killed, \(wholeCount) of them whole, the others absent",
        ]
    }

    private static func wait(for count: Int, more crowd: [Publisher]) throws {
        let before = crowd.map(\.acknowledgedCount)
        try Clock.wait(
            milliseconds: 120_000,
            orThrow: "not all publishers do \(count) changes within two minutes"
        ) {
            zip(crowd, before).allSatisfy { $0.acknowledgedCount >= $1 + count }
        }
    }

    /// Takes a backup, restores it, and compares it: all that was acknowledged before it began is there, nothing that
    /// began after it, and of each publisher a state that it had.
    private mutating func backUp(_ crowd: [Publisher], _ bench: borrowing Workbench) throws {
        Files.remove(backup)
        let before = Clock.nanoseconds()
        // One that was killed just now may still be under way in the daemon.
        try Clock.wait(milliseconds: 120_000, orThrow: "no backup within two minutes") {
            try runBackup(bench) == .exited(0)
        }
        let time = before...Clock.nanoseconds()
        let other = Workbench("restored", of: bench)
        try Self.restore(backup, to: other.data, bench)
        try verify(other, "of a backup")
        var restored = try DaemonUnderTest.serving(other)
        for publisher in crowd {
            for (id, digest) in try publisher.checkOneMoment(of: time, at: restored.socket) {
                backedUp[id] = [SentChange(digest: digest, sentAt: -1, answeredAt: -1)]
            }
        }
        try restored.stop()
        Files.remove(other.folder)
    }

    /// Kills a backup.
    ///
    /// - Returns: whether it was whole by then. It is absent otherwise.
    private func killBackup(
        afterMicroseconds pause: Int, _ bench: borrowing Workbench
    ) throws -> Bool {
        let pid = try spawn(backupCommand(bench), output: .file(bench.log), errors: .output)
        Clock.pause(microseconds: pause)
        Glibc.kill(pid, SIGKILL)
        reap(pid)
        guard Files.exists(backup) else { return false }
        try Self.restore(backup, to: "\(bench.folder)/whole", bench)
        Files.remove("\(bench.folder)/whole")
        Files.remove(backup)
        return true
    }

    private func backupCommand(_ bench: borrowing Workbench) -> [String] {
        [bench.blobd, "backup", backup, "--socket", bench.socket]
    }

    private func runBackup(_ bench: borrowing Workbench) throws -> ProcessEnd {
        try runToEnd(backupCommand(bench), log: bench.log)
    }

    private static func restore(
        _ backup: String, to data: String, _ bench: borrowing Workbench
    ) throws {
        let end = try runToEnd([bench.blobd, "restore", backup, "--data", data], log: bench.log)
        try require(end == .exited(0), "restore ended with \(end)")
    }
}

/// What is ended at any moment.
enum CutCommand: CustomStringConvertible {
    case restore, compact

    var description: String { self == .restore ? "restore" : "compact" }
}
