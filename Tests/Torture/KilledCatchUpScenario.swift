import ArgumentParser
import Glibc
import TestSupport

/// A leader is killed while it ships what piled up when the bucket was away, or shortly after.
///
/// It once recorded a position beside a lower sequence, and shipped batches again after the start
/// whose payloads it had let go: replication waited for them permanently.
struct KilledCatchUpScenario: ShardScenario {
    static let configuration = CommandConfiguration(
        commandName: "killed-catch-up",
        abstract: "A leader is killed while it catches up with its bucket, and started again.",
        discussion: """
            The bucket refuses everything while 6,000 publishes rewrite five notifications. It is back, and \
            the leader is killed up to three seconds later, in odd rounds counted from when all was shipped. \
            After a start everything must be shipped within 60 s, be right, and be sound; a new follower \
            must have the same.
            """)
    static let usualRounds = 20

    @OptionGroup var options: ScenarioOptions
    @OptionGroup var shard: ShardOptions

    @Option(help: "Publishes while the bucket is away. With --short: 1500.")
    var publishes: Int?

    var roundSecondsMax: Int { 240 }

    func play(_ round: inout Round) throws -> String {
        let proxy = try FaultyProxy(to: round.shard.server.port)
        let leader = round.host("leader", "--replicate", through: proxy)
        try leader.start()
        try settle([leader], withinSeconds: 90, "at the start")
        proxy.set(.answered([.reset]))
        var plan = Publisher.Plan()
        // One after the other, so that each is a batch.
        plan.publisherCount = 1
        plan.pipelineMax = 1
        plan.idCount = 5
        plan.changesMax = publishes ?? (options.short ? 1_500 : 6_000)
        plan.byteCounts = 200...8_000
        plan.deletePercent = 0
        let crowd = Publisher.crowd(plan, using: &round.generator)
        try round.start(crowd, at: [leader.socket], until: StopSign()).join()

        proxy.set(nil)
        let isAfter = round.number % 2 == 1
        if isAfter { try settle([leader], withinSeconds: 180, "when the bucket was back") }
        let pause = Int.random(in: 0...3_000, using: &round.generator)
        Clock.pause(microseconds: pause * 1_000)
        leader.kill()
        try leader.start()
        let shipped = try settle([leader], withinSeconds: 180, "after the kill").milliseconds
        try Publisher.check(crowd, at: [leader.socket], "after the kill")
        let fresh = try round.hostFromBucket()
        try settle([leader, fresh], withinSeconds: 180, "with a new follower")
        let count = try Publisher.check(
            crowd, at: [leader.socket, fresh.socket], "with a new follower")
        try leader.verifyStopped()
        try fresh.verifyStopped()
        return
            "killed \(pause) ms after \(isAfter ? "all was shipped" : "the bucket was back"); all shipped \(shipped) ms after the start; \(count) compared"
    }
}
