import CCores
import Comparison
import Glibc
import LoadGenerator

extension Rounds {
    /// blobd with one worker and with two, on all cores, which the load generator shares.
    ///
    /// The daemon's store must have been filled, and nobody may have it open.
    func workers(store: String, cores: [Int]) throws -> [WorkersTurn] {
        var turns: [WorkersTurn] = []
        try Self.use(cores)
        for cell in Plan.workerCells where plan.sizes.contains(cell.byteCount) {
            let payloads = try Plan.payloads(cell.byteCount)
            progress.part("workers, \(cell.label)")
            for round in 0..<plan.longRounds {
                for workers in Plan.rotated([1, 2], round: round) {
                    progress.turn("\(workers) workers, \(cell.label), round \(round + 1)")
                    let blobd = try Blobd.start(
                        in: place, store: store, workers: workers, cores: cores)
                    defer { blobd.process?.stop() }
                    let turn = try plan.turn(
                        blobd, cell, payloads, round: round, seconds: plan.longSeconds, core: nil)
                    turns.append(WorkersTurn(workers: workers, turn: turn))
                    progress.advance(longTurnSeconds)
                }
            }
        }
        return turns
    }

    /// Lets this thread run on any of `cores`.
    private static func use(_ cores: [Int]) throws {
        guard ccores_use(cores.map(Int32.init), Int32(cores.count)) == 0 else {
            throw CompareFailure("cannot use cores \(cores): \(String(cString: strerror(errno)))")
        }
    }
}
