import Glibc
import TestSupport

/// One turn of a scenario: a shard of its own, in a folder of its own.
struct Round {
    /// From 1 on.
    let number: Int
    let bench: Workbench
    let shard: ShardUnderTest
    var generator: SeededGenerator

    /// What all its choices come from. With `--seed` and one round it is played again.
    var seed: UInt64 { bench.seed }
    var isShort: Bool { bench.isShort }

    /// A host, not started yet.
    func host(
        _ name: String, _ flag: String, through proxy: FaultyProxy? = nil, prefix: [String] = [],
        _ arguments: [String] = []
    ) -> Host {
        Host(
            name, flag, of: shard, in: bench, through: proxy, prefix: prefix, arguments: arguments)
    }

    /// A host whose daemon serves.
    func serve(
        _ name: String, _ flag: String, through proxy: FaultyProxy? = nil, prefix: [String] = [],
        _ arguments: [String] = [], withinSeconds limit: Int = 60
    ) throws -> Host {
        let host = host(name, flag, through: proxy, prefix: prefix, arguments)
        try host.start(withinMilliseconds: limit * 1_000)
        return host
    }

    /// Publishers that connect again when they are refused or cut off.
    ///
    /// - Parameters:
    ///   - waits: whether each waits for the bucket.
    ///   - change: what else their plan has.
    mutating func crowd(
        _ name: String, _ count: Int, waits: Bool = true, bytes: ClosedRange<Int> = 200...100_000,
        _ change: (inout Publisher.Plan) -> Void = { _ in }
    ) -> [Publisher] {
        var plan = Publisher.Plan()
        (plan.name, plan.publisherCount, plan.byteCounts) = (name, count, bytes)
        (plan.awaitsReplication, plan.persists) = (waits, true)
        change(&plan)
        return Publisher.crowd(plan, using: &generator)
    }

    /// Publishers that each publish under one id after the other, at a rate, and do not wait for the bucket.
    mutating func paced(
        _ name: String, _ count: Int = 1, every microseconds: Int, bytes: Int = 16,
        _ change: (inout Publisher.Plan) -> Void = { _ in }
    ) -> [Publisher] {
        crowd(name, count, waits: false) {
            ($0.every, $0.pipelineMax) = (microseconds, 1)
            ($0.newPercent, $0.deletePercent, $0.sharedPercent) = (100, 0, 0)
            $0.payload = { _, generator in
                Payload(seed: generator.next(), byteCount: bytes, kind: .noise)
            }
            change(&$0)
        }
    }

    /// Starts threads that publish, each until the sign is up.
    func start(_ crowd: [Publisher], at hosts: [Host], until stop: StopSign) throws -> Threads {
        try Publisher.start(crowd, at: hosts.map { $0.socket }, seed: seed, until: stop)
    }
}

/// A control has found what it had to find.
struct AsExpected: Error { let words: String }

/// A scenario of daemons that share a bucket, in rounds. Every round is played, also after one has
/// failed, so that a defect's frequency is known.
protocol ShardScenario: Scenario {
    var rounds: Int { get }
    /// Whether a round has to throw ``AsExpected``.
    var isControl: Bool { get }

    /// Plays a round. Returns its figures, or throws what was wrong.
    func play(_ round: inout Round) throws -> String
}

extension ShardScenario {
    var isControl: Bool { false }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let name = Self.about.name
        var (failures, last) = ([String](), "")
        for number in 1...rounds {
            let seed = bench.seed &+ UInt64(number - 1)
            var round = Round(
                number: number, bench: Workbench("\(number)", of: bench, seed: seed),
                shard: try ShardUnderTest(bench.server, "\(name)-\(bench.seed)-\(number)"),
                generator: SeededGenerator(seed: seed))
            let begin = Clock.milliseconds()
            let outcome = Result { try play(&round) }
            let took = "\((Clock.milliseconds() - begin) / 1_000) s"
            switch outcome {
            case .success(let words):
                last = words
                if rounds > 1 { say("\(name): round \(number), seed \(seed): \(words); \(took)") }
            case .failure(let found as AsExpected):
                return ["as expected, in round \(number): \(found.words)"]
            case .failure(let error):
                failures.append("\(error)")
                say("\(name): round \(number), seed \(seed), after \(took): FAILED: \(error)")
                for host in Files.names(in: round.bench.folder) {
                    let tail = Workbench(host, of: round.bench).logTail()
                    if !tail.isEmpty { say("\(host): \(tail)") }
                }
            }
            if !bench.isKept { Files.remove(round.bench.folder) }
        }
        try require(
            failures.isEmpty,
            "\(failures.count) of \(rounds) rounds, the first: \(failures.first ?? "")")
        try require(!isControl, "nothing was lost in \(rounds) rounds, where something had to be")
        return ["\(rounds) rounds with \(bench.server)", last]
    }
}
