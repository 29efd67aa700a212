import Glibc
import TestSupport

/// Kills the daemon at random moments while many publish, and looks whether it kept its word.
struct KillScenario: Scenario {
    static let about = About(
        "kill", "kill -9 at random moments under publishers, and during starts.",
        """
        After every kill the daemon is started again and must answer within a second. Every change acknowledged in
        the round is compared with what is there (digest and bytes), one in eight of the older ones too; every tenth
        round `blobd verify` must find the store in order.
        """)

    @Setting(200, short: 4, "How often the daemon is killed under publishers.") var rounds: Int
    @Setting(16, "How many publish at the same time.") var publishers: Int
    @Setting(1_000, short: 120_000, "The longest start that passes, in milliseconds.")
    var startMillisecondsMax: Int

    private struct Figures {
        var startMillisecondsMost = 0
        var startKills = 0
        var checked = 0

        func words(_ crowd: [Publisher]) -> String {
            "\(Publisher.acknowledgedCount(crowd)) acknowledged changes, \(checked) notifications compared, "
                + "\(startKills) starts killed, longest start \(startMillisecondsMost) ms"
        }
    }

    func torture(_ bench: inout Workbench) throws -> [String] {
        var plan = Publisher.Plan()
        plan.publisherCount = publishers
        if bench.isShort { (plan.idCount, plan.byteCounts) = (10, 100...200_000) }
        let crowd = Publisher.crowd(plan, using: &bench.generator)
        var figures = Figures()
        // The very first starts, which create the store, are killed as well.
        for _ in 0..<(bench.isShort ? 2 : 20) { try killDuringStart(&bench, &figures) }
        var daemon = try start(bench, &figures)
        for round in 1...rounds {
            let stop = StopSign()
            let before = Publisher.acknowledgedCount(crowd)
            let threads = try Publisher.start(
                crowd, at: [bench.socket], seed: bench.seed, round: round, until: stop)
            // Each kill hits a daemon at work, however slow the machine is.
            let patience = Patience()
            while Publisher.acknowledgedCount(crowd) == before {
                try patience.wait(orThrow: "round \(round): no change was acknowledged")
            }
            Clock.pause(microseconds: Int.random(in: 1_000...400_000, using: &bench.generator))
            let wasRunning = daemon.isRunning()
            daemon.kill()
            stop.putUp()
            try threads.join()
            try require(wasRunning, "the daemon ended by itself in round \(round)")
            if round % 10 == 0 || round == rounds {
                try verify(bench, "after the kill of round \(round)")
            }
            if bench.generator.chance(30) { try killDuringStart(&bench, &figures) }
            daemon = try start(bench, &figures)
            figures.checked += try Publisher.check(
                crowd, at: [bench.socket], round: round, sampling: 8, "round \(round)")
            if round % 20 == 0 { say("kill: round \(round), \(figures.words(crowd))") }
        }
        try daemon.stop()
        try require(figures.checked >= rounds, "only \(figures.checked) were compared")
        try verify(bench, "after the last round")
        return ["\(rounds) rounds", figures.words(crowd)]
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
        let begin = Clock.milliseconds()
        let daemon = try DaemonUnderTest.serving(bench)
        let took = Clock.milliseconds() - begin
        figures.startMillisecondsMost = max(figures.startMillisecondsMost, took)
        try require(
            took <= startMillisecondsMax,
            "a start took \(took) ms; the limit is \(startMillisecondsMax) ms")
        return daemon
    }
}
