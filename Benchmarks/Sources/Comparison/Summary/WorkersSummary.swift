/// blobd under one load, with one worker and with more.
public struct WorkersSummary: Sendable {
    /// What a number of workers came to.
    public struct Row: Sendable {
        /// Threads that serve connections.
        public let workers: Int
        /// Answers a second.
        public let rate: Spread
        /// Cores the server kept busy.
        public let serverCores: Spread
        /// Cores the load generator kept busy.
        public let generatorCores: Spread

        /// Answers for one second of one core's time in the server.
        public var ratePerCore: Double {
            serverCores.median > 0 ? rate.median / serverCores.median : 0
        }
    }

    /// What was asked.
    public let cell: Cell
    /// By the number of workers.
    public let rows: [Row]
    /// Cores of the machine.
    public let cores: Int

    /// Those cells in which there is a figure.
    public static func all(_ report: Report) -> [WorkersSummary] {
        let samples = report.workers
        return samples.map(\.sample.cell).uniqued().map { cell in
            let ofCell = samples.filter { $0.sample.cell == cell }
            let rows = ofCell.map(\.workers).uniqued().sorted().compactMap { workers -> Row? in
                let some = ofCell.filter { $0.workers == workers }
                guard let rate = Spread(some.map(\.sample.requestsPerSecond)),
                    let server = Spread(some.map(\.serverCores)),
                    let generator = Spread(some.map(\.sample.generatorShare))
                else { return nil }
                return Row(
                    workers: workers, rate: rate, serverCores: server, generatorCores: generator)
            }
            return WorkersSummary(cell: cell, rows: rows, cores: report.machine.cores)
        }
    }

    /// The most workers' rate over one worker's; nil without both.
    public var gain: Double? {
        guard let one = rows.first, let most = rows.last, rows.count > 1, one.rate.median > 0 else {
            return nil
        }
        return most.rate.median / one.rate.median
    }

    /// What the machine's cores allow the most workers, over one: the load takes its part of them
    /// too. nil where processor times are unknown.
    public var gainPossible: Double? {
        guard let one = rows.first, let most = rows.last, one.serverCores.median > 0 else {
            return nil
        }
        let both = one.serverCores.median + one.generatorCores.median
        return min(Double(most.workers) / Double(one.workers), Double(cores) / both)
    }

    /// What they show, in a sentence; empty without two numbers of workers.
    var finding: String {
        guard let gain, let gainPossible, let one = rows.first, let most = rows.last else {
            return ""
        }
        return """
            \(cell.label): \(most.workers) workers give \(NumberText.ratio(gain)) what one gives. \
            One keeps \(NumberText.fixed(one.serverCores.median, 2)) cores busy and the load \
            generator \(NumberText.fixed(one.generatorCores.median, 2)) more, so that the \
            \(cores) cores allow \(NumberText.ratio(gainPossible)) at most. With \
            \(most.workers) it is \(NumberText.fixed(most.serverCores.median, 2)) and \
            \(NumberText.fixed(most.generatorCores.median, 2)).
            """
    }
}
