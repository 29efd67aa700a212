import CCores
import Comparison
import Glibc
import LoadGenerator

extension Sampling {
    /// blobd with one worker and with two, on all cores, which the load generator shares.
    ///
    /// The daemon's store must have been filled, and nobody may have it open.
    func workers(store: String, cores: [Int]) throws -> [WorkersSample] {
        var samples: [WorkersSample] = []
        try Self.use(cores)
        for cell in Plan.workerCells where plan.sizes.contains(cell.byteCount) {
            let payloads = try Plan.payloads(cell.byteCount)
            progress.part("workers, \(cell.label)")
            for number in 0..<plan.longSampleCount {
                for workers in Plan.rotated([1, 2], by: number) {
                    progress.step("\(workers) workers, \(cell.label), sample \(number + 1)")
                    let blobd = try Blobd.start(
                        in: place, store: store, workers: workers, cores: cores)
                    defer { blobd.process?.stop() }
                    let sample = try plan.sample(
                        blobd, cell, payloads, number: number, seconds: plan.longSeconds, core: nil)
                    samples.append(WorkersSample(workers: workers, sample: sample))
                    progress.advance(longSampleSeconds)
                }
            }
        }
        return samples
    }

    /// Lets this thread run on any of `cores`.
    private static func use(_ cores: [Int]) throws {
        guard ccores_use(cores.map(Int32.init), Int32(cores.count)) == 0 else {
            throw CompareFailure("cannot use cores \(cores): \(String(cString: strerror(errno)))")
        }
    }
}
