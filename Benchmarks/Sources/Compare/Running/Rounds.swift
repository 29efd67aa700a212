import Comparison
import Glibc
import LoadGenerator

/// The rounds of a comparison, part by part.
struct Rounds {
    var plan: Plan
    var place: Place
    var progress: Progress

    /// What a turn takes, with what is around it.
    static let secondsAround = 0.05
    /// Between turns of publishes: what a server still does for its last turn is not done in the
    /// next one's.
    private static let settleMicroseconds: UInt32 = 200_000

    /// Every server in every cell.
    ///
    /// - Parameter rounds: their numbers.
    func fetches(_ fleet: Fleet, rounds: Range<Int>) throws -> [Turn] {
        var turns: [Turn] = []
        let contenders = fleet.contenders.filter { plan.servers.contains($0.server) }
        for size in plan.sizes {
            let payloads = try Plan.payloads(size)
            for contender in contenders {
                progress.turn("\(contender.server.label): comparing every byte")
                try plan.check(contender, payloads, byteCount: size)
                progress.advance(Plan.checkSeconds)
            }
            for load in plan.loads {
                let cell = Cell(byteCount: size, load: load)
                if !contenders.isEmpty { progress.part("fetches, \(cell.label)") }
                for round in rounds {
                    for contender in Plan.rotated(contenders, round: round) {
                        progress.turn(
                            "\(cell.label), round \(round + 1), \(contender.server.label)")
                        turns.append(
                            try plan.turn(
                                contender, cell, payloads, round: round,
                                core: plan.generatorCore))
                        progress.advance(turnSeconds)
                    }
                }
            }
        }
        return turns
    }

    /// Durable publishes: the daemon in both dialects against redis. Each cell has servers of its
    /// own, so that none pays for the one before.
    func publishes() throws -> [Turn] {
        var turns: [Turn] = []
        for size in Plan.publishSizes where plan.sizes.contains(size) {
            let payloads = try Plan.payloads(size)
            for publishers in Plan.publishers {
                let cell = Cell(
                    byteCount: size, load: Load(connections: publishers, inFlight: 1))
                progress.part("publishes, \(NumberText.bytes(size)), \(cell.load.publishersTitle)")
                turns += try publishes(cell, payloads)
            }
        }
        return turns
    }

    private func publishes(_ cell: Cell, _ payloads: LoadPayloads) throws -> [Turn] {
        var turns: [Turn] = []
        let blobd = try Blobd.start(in: place, store: "publishes")
        let redis = try Redis.start(in: place, isDurable: true)
        defer {
            for contender in [blobd, redis] { contender.process?.stop() }
            _ = Shell.output("rm -rf '\(place.path("publishes"))' '\(place.path("redis-durable"))'")
        }
        let contenders = [blobd, Blobd.http(blobd), redis]
        for round in 0..<plan.longRounds {
            for contender in Plan.rotated(contenders, round: round) {
                progress.turn("publishes, \(cell.label), round \(round + 1)")
                turns.append(
                    try plan.turn(
                        contender, cell, payloads, round: round, seconds: plan.longSeconds,
                        readPercent: 0, core: plan.generatorCore))
                usleep(Self.settleMicroseconds)
                progress.advance(longTurnSeconds + Double(Self.settleMicroseconds) / 1e6)
            }
        }
        return turns
    }

    /// What one turn takes.
    var turnSeconds: Double { plan.seconds + plan.warmUpSeconds + Self.secondsAround }
    /// What one of the longer turns takes.
    var longTurnSeconds: Double { turnSeconds + plan.longSeconds - plan.seconds }
}
