import ArgumentParser
import Glibc
import TestSupport

/// Takes backups of a daemon while many publish at full rate, and compares what is restored.
struct BackupScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Backups beside publishers: one moment, whole or absent, bounded growth.",
        discussion: """
            Each publisher replaces and deletes its notifications one by one. A restored store must have one \
            moment: everything that was acknowledged before the backup began, nothing that began after it, and \
            of each publisher a state that it had. Some backups are killed at random moments: the target \
            must then be absent, or be restored.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "Backups that are restored and compared. With --short: 1.")
    var rounds: Int?

    @Option(help: "Backups that are killed. With --short: 3.")
    var kills: Int?

    @Option(help: "How many publish at the same time. With --short: 8.")
    var publishers: Int?

    var secondsMax: UInt32 { UInt32(clamping: 300 + (rounds ?? 10) * 60 + (kills ?? 50) * 20) }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let rounds = rounds ?? (options.short ? 1 : 10)
        let kills = kills ?? (options.short ? 3 : 50)
        var daemon = try DaemonUnderTest.serving(bench)
        let crowd = (0..<(publishers ?? (options.short ? 8 : 64))).map { number in
            var plan = Publisher.Plan()
            plan.idCount = 50
            plan.byteCounts = 100...40_000
            plan.pipelineMax = 1
            plan.ledger = Ledger(keepsHistory: true) { Clock.nanoseconds() }
            plan.shared = []
            plan.sharedPercent = 0
            return Publisher(number: number, plan: plan)
        }
        let (socket, seed, stop) = (daemon.socket, bench.seed, StopSign())
        let threads = try Threads.start(crowd.count) {
            try crowd[$0].work(at: [socket], seed: seed, until: stop)
        }
        defer { stop.putUp() }
        let isWarm = Clock.wait(milliseconds: 60_000) {
            crowd.allSatisfy { $0.acknowledgedCount >= 100 }
        }
        try require(isWarm, "not all publish a hundred changes within a minute")
        let before = allocatedByteCount(bench)
        var longest = 0
        var compared = 0
        for round in 1...rounds {
            let start = Clock.milliseconds()
            compared += try backUpAndCompare(crowd, round, bench)
            longest = max(longest, Clock.milliseconds() - start)
        }
        var wholeCount = 0
        for number in 0..<kills {
            let pause = Int.random(in: 0..<600_000, using: &bench.generator)
            wholeCount += try kill(number, afterMicroseconds: pause, bench) ? 1 : 0
        }
        stop.putUp()
        try threads.join()
        let after = allocatedByteCount(bench)
        try daemon.stop()
        try verify(bench, "after the backups")
        return [
            "\(rounds) backups beside \(crowd.count) publishers, \(compared) notifications compared",
            "\(Publisher.acknowledgedCount(crowd)) changes",
            "\(kills) backups killed, \(wholeCount) of them whole, the others absent",
            "data.mdb \(before >> 20) MiB before, \(after >> 20) MiB after",
            "a round took at most \(longest) ms",
        ]
    }

    private func allocatedByteCount(_ bench: borrowing Workbench) -> Int {
        var status = stat()
        stat("\(bench.data)/data.mdb", &status)
        return Int(status.st_blocks) * 512
    }

    // MARK: - One backup

    /// - Returns: how many notifications were compared.
    private func backUpAndCompare(
        _ crowd: [Publisher], _ round: Int, _ bench: borrowing Workbench
    ) throws -> Int {
        let file = "\(bench.folder)/backup-\(round)"
        let folder = "\(bench.folder)/restored-\(round)"
        let before = Clock.nanoseconds()
        try runBlobd(["backup", file, "--socket", bench.socket], bench)
        let after = Clock.nanoseconds()
        try require(mkdir(folder, 0o700) == 0, "mkdir \(folder)")
        try runBlobd(["restore", file, "--data", "\(folder)/data"], bench)
        let other = Workbench(folder: folder, blobd: bench.blobd)
        try verify(other, "of backup \(round)")
        var restored = try DaemonUnderTest.serving(other)
        var compared = 0
        for publisher in crowd {
            compared += try publisher.checkOneMoment(of: before...after, at: restored.socket)
        }
        try restored.stop()
        Files.remove(folder)
        Files.remove(file)
        return compared
    }

    /// Kills a backup.
    ///
    /// - Returns: whether it was whole by then.
    private func kill(
        _ number: Int, afterMicroseconds pause: Int, _ bench: borrowing Workbench
    ) throws -> Bool {
        let file = "\(bench.folder)/killed-\(number)"
        let pid = try spawn(
            [bench.blobd, "backup", file, "--socket", bench.socket], output: .file(bench.log),
            errors: .output)
        Clock.pause(microseconds: pause)
        Glibc.kill(pid, SIGKILL)
        reap(pid)
        guard Files.exists(file) else { return false }
        let folder = "\(bench.folder)/whole-\(number)"
        try runBlobd(["restore", file, "--data", folder], bench)
        Files.remove(folder)
        Files.remove(file)
        return true
    }

    private func runBlobd(_ arguments: [String], _ bench: borrowing Workbench) throws {
        // The one that was killed just now may still be ending in the daemon.
        var ending = ProcessEnd.exited(1)
        for _ in 0..<100 {
            ending = try runToEnd([bench.blobd] + arguments, log: bench.log)
            if ending == .exited(0) { return }
            Clock.pause(microseconds: 100_000)
        }
        throw TestFailure("blobd \(arguments[0]) ended with \(ending)")
    }
}
