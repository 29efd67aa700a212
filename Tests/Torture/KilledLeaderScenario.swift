import ArgumentParser
import Glibc
import TestSupport

/// A leader is killed under publishers and readers, and started on the same folder.
///
/// A fetch of what was just published asks for a commit. Leaders once logged and acknowledged records
/// of such a commit without the bytes of their payloads: after the kill they could not be read, and
/// nothing behind them was ever shipped.
struct KilledLeaderScenario: ShardScenario {
    static let configuration = CommandConfiguration(
        commandName: "killed-leader",
        abstract: "A leader is killed under publishers and readers, and started again.",
        discussion: """
            Six publishers do not wait for the bucket, and two readers fetch what was just published. After \
            the kill and a start every acknowledged payload must be there, everything must be in the bucket \
            within 30 s, no publish may be refused, and the store must be sound.
            """)
    static let usualRounds = 20

    @OptionGroup var options: ScenarioOptions
    @OptionGroup var shard: ShardOptions

    @Option(help: "Publishes that are acknowledged before the kill, at least. With --short: 1000.")
    var publishes: Int?

    var roundSecondsMax: Int { 180 }

    func play(_ round: inout Round) throws -> String {
        let least = publishes ?? (options.short ? 1_000 : 8_000)
        let news = News()
        var plan = Publisher.Plan()
        plan.publisherCount = 6
        plan.idCount = 1_000_000
        plan.byteCounts = 200...50_000
        plan.deletePercent = 2
        plan.news = news
        let crowd = Publisher.crowd(plan, using: &round.generator)
        let leader = round.host("leader", "--replicate")
        try leader.start()
        let stop = StopSign()
        let goal = Int.random(in: least...2 * least, using: &round.generator)
        let threads = try round.start(crowd, at: [leader.socket], readers: (2, news), until: stop)
        let isReached = Clock.wait(milliseconds: 60_000) {
            crowd.reduce(0) { $0 + $1.acknowledgedCount } >= goal
        }
        Clock.pause(microseconds: Int.random(in: 0...100_000, using: &round.generator))
        leader.kill()
        stop.putUp()
        try threads.join()
        try require(isReached, "\(goal) publishes are not acknowledged within 60 s")
        let acknowledged = crowd.reduce(0) { $0 + $1.acknowledgedCount }

        try leader.start()
        try Publisher.check(crowd, at: [leader.socket], "after the kill")
        // They do not persist: a refusal is a failure.
        let again = StopSign()
        let more = try round.start(crowd, at: [leader.socket], until: again)
        Clock.pause(microseconds: 200_000)
        again.putUp()
        try more.join()
        let shipped = try settle([leader], withinSeconds: 90, "after the kill")
        let count = try Publisher.check(crowd, at: [leader.socket], "when all was shipped")
        try require(leader.exits == 0, "the leader exited by itself \(leader.exits) times")
        try leader.verifyStopped()
        return
            "\(acknowledged) changes acknowledged before the kill, all shipped \(shipped.milliseconds) ms after it; \(count) compared"
    }
}
