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

    /// What one sample takes.
    var sampleSeconds: Double { plan.seconds + plan.warmUpSeconds + Self.secondsAround }
    /// What one of the longer samples takes.
    var longSampleSeconds: Double { sampleSeconds + plan.longSeconds - plan.seconds }
}
