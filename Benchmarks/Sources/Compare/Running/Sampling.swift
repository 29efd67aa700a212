import Comparison
import Glibc
import LoadGenerator

/// The samples of a comparison, part by part.
struct Sampling {
    var plan: Plan
    var place: Place
    var progress: Progress

    /// What a sample takes, with what is around it.
    static let secondsAround = 0.05
    /// Between samples of publishes: what a server still does for its last sample is not done in the
    /// next one's.
    private static let settleMicroseconds: UInt32 = 200_000

    /// Every server in every cell.
    ///
    /// - Parameter numbers: those of the samples.
    func fetches(_ fleet: Fleet, numbers: Range<Int>) throws -> [Sample] {
        var samples: [Sample] = []
        let contenders = fleet.contenders.filter { plan.servers.contains($0.server) }
        for size in plan.sizes {
            let payloads = try Plan.payloads(size)
            for contender in contenders {
                progress.step("\(contender.server.label): comparing every byte")
                try plan.check(contender, payloads, byteCount: size)
                progress.advance(Plan.checkSeconds)
            }
            for load in plan.loads {
                let cell = Cell(byteCount: size, load: load)
                if !contenders.isEmpty { progress.part("fetches, \(cell.label)") }
                for number in numbers {
                    for contender in Plan.rotated(contenders, by: number) {
                        progress.step(
                            "\(cell.label), sample \(number + 1), \(contender.server.label)")
                        samples.append(
                            try plan.sample(
                                contender, cell, payloads, number: number,
                                core: plan.generatorCore))
                        progress.advance(sampleSeconds)
                    }
                }
            }
        }
        return samples
    }

    /// Durable publishes: the daemon in both dialects against redis. Each cell has servers of its
    /// own, so that none pays for the one before.
    func publishes() throws -> [Sample] {
        var samples: [Sample] = []
        for size in Plan.publishSizes where plan.sizes.contains(size) {
            let payloads = try Plan.payloads(size)
            for publishers in Plan.publishers {
                let cell = Cell(
                    byteCount: size, load: Load(connections: publishers, inFlight: 1))
                progress.part("publishes, \(NumberText.bytes(size)), \(cell.load.publishersTitle)")
                samples += try publishes(cell, payloads)
            }
        }
        return samples
    }

    private func publishes(_ cell: Cell, _ payloads: LoadPayloads) throws -> [Sample] {
        var samples: [Sample] = []
        let blobd = try Blobd.start(in: place, store: "publishes")
        let redis = try Redis.start(in: place, isDurable: true)
        defer {
            for contender in [blobd, redis] { contender.process?.stop() }
            _ = Shell.output("rm -rf '\(place.path("publishes"))' '\(place.path("redis-durable"))'")
        }
        let contenders = [blobd, Blobd.http(blobd), redis]
        for number in 0..<plan.longSampleCount {
            for contender in Plan.rotated(contenders, by: number) {
                progress.step("publishes, \(cell.label), sample \(number + 1)")
                samples.append(
                    try plan.sample(
                        contender, cell, payloads, number: number, seconds: plan.longSeconds,
                        readPercent: 0, core: plan.generatorCore))
                usleep(Self.settleMicroseconds)
                progress.advance(longSampleSeconds + Double(Self.settleMicroseconds) / 1e6)
            }
        }
        return samples
    }

    /// What one sample takes.
    var sampleSeconds: Double { plan.seconds + plan.warmUpSeconds + Self.secondsAround }
    /// What one of the longer samples takes.
    var longSampleSeconds: Double { sampleSeconds + plan.longSeconds - plan.seconds }
}
