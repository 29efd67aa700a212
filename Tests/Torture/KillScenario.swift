import ArgumentParser
import Glibc
import TestSupport

/// Kills the daemon at random moments while many publish, and looks whether it kept its word.
struct KillScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "kill",
        abstract: "kill -9 at random moments under publishers, and during starts.",
        discussion: """
            After every kill the daemon is started again and must answer within a second. \
            Every change acknowledged in the round is compared with what is there (digest and \
            bytes), one in eight of the older ones too; every tenth round `blobd verify` must \
            find the store in order.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How often the daemon is killed under publishers. With --short: 4.")
    var rounds: Int?

    @Option(help: "How many publish at the same time.")
    var publishers = 16

    @Option(help: "The longest start that passes, in milliseconds. With --short: 30,000.")
    var startMillisecondsMax: Int?

    var secondsMax: UInt32 { UInt32(clamping: 120 + roundCount * 20) }

    private var roundCount: Int { rounds ?? (options.short ? 4 : 200) }
    private var startMax: Int { startMillisecondsMax ?? (options.short ? 30_000 : 1_000) }

    func torture(_ bench: inout Workbench) throws -> [String] {
        var plan = Publisher.Plan()
        plan.publisherCount = publishers
        if options.short {
            plan.idCount = 10
            plan.byteCounts = 100...200_000
        }
        let crowd = Publisher.crowd(plan, using: &bench.generator)
        var figures = Figures()
        var daemon = try startNew(&bench, &figures)
        for round in 1...roundCount {
            try publishAndKill(&daemon, crowd, round, &bench)
            if round % 10 == 0 || round == roundCount {
                try verify(bench, "after the kill of round \(round)")
            }
            if bench.generator.chance(30) { try killDuringStart(&bench, &figures) }
            daemon = try start(bench, &figures)
            try check(crowd, bench, round, &figures)
            if round % 20 == 0 { say("kill: round \(round), \(figures.words(crowd))") }
        }
        try daemon.stop()
        try verify(bench, "after the last round")
        return ["\(roundCount) rounds", figures.words(crowd)]
    }

    private struct Figures {
        var startMillisecondsMost = 0
        var startKills = 0
        var checked = 0

        func words(_ crowd: [Publisher]) -> String {
            let acknowledged = crowd.reduce(0) { $0 + $1.acknowledgedCount }
            return "\(acknowledged) acknowledged changes, \(checked) notifications compared, "
                + "\(startKills) starts killed, longest start \(startMillisecondsMost) ms"
        }
    }

    /// The very first starts, which create the store, are killed as well.
    private func startNew(
        _ bench: inout Workbench, _ figures: inout Figures
    ) throws -> DaemonUnderTest {
        for _ in 0..<(options.short ? 2 : 20) { try killDuringStart(&bench, &figures) }
        return try start(bench, &figures)
    }

    private func killDuringStart(_ bench: inout Workbench, _ figures: inout Figures) throws {
        var daemon = try DaemonUnderTest(starting: bench)
        Clock.pause(microseconds: Int.random(in: 0...40_000, using: &bench.generator))
        try daemon.requireRunning("during a start")
        daemon.kill()
        figures.startKills += 1
    }

    private func start(
        _ bench: borrowing Workbench, _ figures: inout Figures
    ) throws -> DaemonUnderTest {
        let begin = Clock.nanoseconds()
        let daemon = try DaemonUnderTest.serving(bench)
        let took = (Clock.nanoseconds() - begin) / 1_000_000
        figures.startMillisecondsMost = max(figures.startMillisecondsMost, took)
        try require(took <= startMax, "a start took \(took) ms; the limit is \(startMax) ms")
        return daemon
    }

    private func publishAndKill(
        _ daemon: inout DaemonUnderTest, _ crowd: [Publisher], _ round: Int,
        _ bench: inout Workbench
    ) throws {
        let (socket, seed, stop) = (daemon.socket, bench.seed, StopSign())
        let threads = try Threads.start(crowd.count) { index in
            try crowd[index].work(at: [socket], seed: seed, round: round, until: stop)
        }
        Clock.pause(microseconds: Int.random(in: 1_000...400_000, using: &bench.generator))
        let wasRunning = daemon.isRunning()
        daemon.kill()
        stop.putUp()
        try threads.join()
        try require(wasRunning, "the daemon ended by itself in round \(round)")
    }

    private func check(
        _ crowd: [Publisher], _ bench: borrowing Workbench, _ round: Int, _ figures: inout Figures
    ) throws {
        figures.checked += try Publisher.check(
            crowd, at: [bench.socket], round: round, sampling: 8, "round \(round)")
    }
}
