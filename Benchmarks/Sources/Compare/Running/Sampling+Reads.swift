import FoundationEssentials
import LoadGenerator

extension Sampling {
    /// Reads in process: a program in C and one in Swift, over the same store, in turn.
    func reads(store: String) throws -> [ReadSample] {
        progress.part("reads in process, \(sizeText(Plan.readByteCount))")
        let programs = try ReadPrograms(place, store: store)
        var samples: [ReadSample] = []
        for number in 0..<plan.sampleCount {
            for reader in Plan.rotated(Reader.allCases, by: number) {
                progress.step("reads, sample \(number + 1), \(reader.rawValue)")
                let rate = try programs.rate(reader, seconds: plan.seconds)
                samples.append(ReadSample(reader: reader, number: number, readsPerSecond: rate))
                progress.advance(plan.sampleSeconds)
            }
        }
        return samples
    }

    /// Instructions for one read of each kind; empty without valgrind.
    func instructions(store: String) throws -> [Reader: Double] {
        guard !Shell.output("command -v valgrind").isEmpty else { return [:] }
        progress.part("reads in process, counting instructions")
        let programs = try ReadPrograms(place, store: store)
        return Reader.allCases.reduce(into: [:]) { counts, reader in
            progress.step("counting instructions, \(reader.rawValue)")
            counts[reader] = programs.instructions(reader)
        }
    }
}

/// The two programs that read in their own process.
private struct ReadPrograms {
    private let place: Place
    private let store: String
    private let list: String

    /// Reads that are made once and twice: the difference leaves out what precedes them.
    private static let countedReads = 20_000

    init(_ place: Place, store: String) throws {
        self.place = place
        self.store = place.path(store)
        list = place.path("ids")
        let payloads = try Plan.payloads(Plan.readByteCount)
        let ids = (0..<payloads.count).map { "\(payloads.item($0).id)\n" }
        try Files.write(ids.joined(), to: list)
    }

    private func command(_ reader: Reader) -> (program: String, way: String) {
        switch reader {
        case .c: ("baseline-reads", "renew")
        case .cHeld: ("baseline-reads", "held")
        case .withPayload: ("blobd-reads", "renew")
        case .withSnapshot: ("blobd-reads", "held")
        }
    }

    /// What the programs print.
    private struct Line: Decodable {
        var readsPerSecond: Double
    }

    func rate(_ reader: Reader, seconds: Double) throws -> Double {
        let (program, way) = command(reader)
        let line = Shell.output(
            "taskset -c \(Machine.list(place.cores)) '\(place.programs)/\(program)' '\(store)' '\(list)' \(seconds) \(way)"
        )
        guard let figure = try? JSONDecoder().decode(Line.self, from: Data(line.utf8)) else {
            throw CompareFailure("\(program) printed \"\(line)\"")
        }
        return figure.readsPerSecond
    }

    /// - Returns: nil when valgrind could not count.
    func instructions(_ reader: Reader) -> Double? {
        let (program, way) = command(reader)
        // valgrind gives up on the debugging information of some linkers.
        let stripped = place.path(program)
        _ = Shell.output("strip -o '\(stripped)' '\(place.programs)/\(program)'")
        func total(_ reads: Int) -> Double? {
            Double(
                Shell.output(
                    """
                    valgrind --tool=callgrind --callgrind-out-file=/dev/null \
                    '\(stripped)' '\(store)' '\(list)' 0 \(way) \(reads) 2>&1 \
                    | sed -n 's/.*Collected : //p'
                    """))
        }
        guard let once = total(Self.countedReads), let twice = total(2 * Self.countedReads) else {
            return nil
        }
        return (twice - once) / Double(Self.countedReads)
    }
}
