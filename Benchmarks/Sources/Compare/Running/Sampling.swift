import LoadGenerator

/// The samples of a comparison, part by part.
struct Sampling {
    var plan: Plan
    var place: Place
    var progress: Progress

    /// Every server in every cell.
    ///
    /// - Parameter numbers: those of the samples.
    func fetches(_ fleet: Fleet, numbers: Range<Int>) throws -> [Sample] {
        var samples: [Sample] = []
        let contenders = fleet.contenders.filter { plan.servers.contains($0.server) }
        for size in plan.sizes {
            let payloads = try Plan.payloads(size)
            for contender in contenders {
                progress.step("\(contender.server.rawValue): comparing every byte")
                try plan.check(contender, payloads, byteCount: size)
                progress.advance(Plan.checkSeconds)
            }
            for load in plan.loads {
                let cell = Cell(byteCount: size, load: load)
                if !contenders.isEmpty { progress.part("fetches, \(cell.label)") }
                for number in numbers {
                    for contender in Plan.rotated(contenders, by: number) {
                        progress.step(
                            "\(cell.label), sample \(number + 1), \(contender.server.rawValue)")
                        samples.append(
                            try plan.sample(
                                contender, cell, payloads, number: number,
                                core: plan.generatorCore))
                        progress.advance(plan.sampleSeconds)
                    }
                }
            }
        }
        return samples
    }

    /// blobd with one worker and with two, on all cores, which the load generator shares.
    ///
    /// The daemon's store must have been filled, and nobody may have it open.
    func workers(store: String, cores: [Int]) throws -> [WorkersSample] {
        var samples: [WorkersSample] = []
        // The load generator has tied this thread to its core.
        try Machine.use(cores)
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
                    progress.advance(plan.longSampleSeconds)
                }
            }
        }
        return samples
    }
}
