import ArgumentParser
import Glibc
import TestSupport

/// What every scenario of a shard can be told.
struct ShardOptions: ParsableArguments {
    @Option(help: "How many rounds. With --short: 1.")
    var rounds: Int?

    @Option(help: "The server: moto or rgw.")
    var server = "moto"
}

/// One turn of a scenario: a shard of its own, in a folder of its own.
struct Round {
    /// From 1 on.
    let number: Int
    /// What all its choices come from. With `--seed` and one round it is played again.
    let seed: UInt64
    let bench: Workbench
    let shard: ShardUnderTest
    let isShort: Bool
    var generator: SeededGenerator

    /// A host, not started yet.
    func host(
        _ name: String, _ flag: String, through proxy: FaultyProxy? = nil,
        _ arguments: [String] = []
    ) -> Host {
        Host(name, flag, of: shard, in: bench, through: proxy, arguments: arguments)
    }

    /// A new host that has nothing but what is in the bucket.
    func hostFromBucket(_ arguments: [String] = []) throws -> Host {
        let host = host("fresh", "--follow", arguments)
        try host.start()
        return host
    }

    /// Starts threads that publish, each until the sign is up, and those that read what was published.
    func start(
        _ crowd: [Publisher], at sockets: [String], readers: (Int, News)? = nil,
        until stop: StopSign
    ) throws -> Threads {
        let (seed, count) = (seed, crowd.count)
        return try Threads.start(count + (readers?.0 ?? 0)) { index in
            if index < count {
                try crowd[index].work(at: sockets, seed: seed, until: stop)
            } else {
                try readers?.1.read(at: sockets, until: stop)
            }
        }
    }
}

/// A scenario of daemons that share a bucket, in rounds. Every round is played, also after one has
/// failed, so that a defect's frequency is known.
protocol ShardScenario: Scenario {
    var shard: ShardOptions { get }

    /// How many rounds are usual.
    static var usualRounds: Int { get }

    /// The longest that a round may take, in seconds.
    var roundSecondsMax: Int { get }

    /// Plays a round. Returns its figures, or throws what was wrong.
    func play(_ round: inout Round) throws -> String
}

extension ShardScenario {
    private var roundCount: Int { shard.rounds ?? (options.short ? 1 : Self.usualRounds) }

    var secondsMax: UInt32 { UInt32(clamping: 240 + roundCount * roundSecondsMax) }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let name = Self.configuration.commandName ?? ""
        var failures: [String] = []
        for number in 1...roundCount {
            let seed = bench.seed &+ UInt64(number - 1)
            let folder = "\(bench.folder)/\(number)"
            mkdir(folder, 0o755)
            var round = Round(
                number: number, seed: seed, bench: Workbench(folder: folder, blobd: bench.blobd),
                shard: try ShardUnderTest(shard.server, "\(name)-\(bench.seed)-\(number)"),
                isShort: options.short, generator: SeededGenerator(seed: seed))
            let begin = Clock.milliseconds()
            let outcome = Result { try play(&round) }
            let took = "\((Clock.milliseconds() - begin) / 1_000) s"
            switch outcome {
            case .success(let words):
                say("\(name): round \(number), seed \(seed): \(words); \(took)")
            case .failure(let error):
                failures.append("\(error)")
                say("\(name): round \(number), seed \(seed), after \(took): FAILED: \(error)")
                for host in Files.names(in: folder) {
                    let tail = ShardUnderTest.part(host, of: round.bench).logTail()
                    if !tail.isEmpty { say("\(host): \(tail)") }
                }
            }
            if !options.keep { Files.remove(folder) }
        }
        try require(
            failures.isEmpty,
            "\(failures.count) of \(roundCount) rounds, the first: \(failures.first ?? "")")
        return ["\(roundCount) rounds with \(shard.server)"]
    }
}
