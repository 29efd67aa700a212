import ArgumentParser
import FoundationEssentials
import Glibc
import LoadGenerator

/// Measures, and writes `report.json`. Started by the script `compare`, which has the help.
@main
struct Compare: ParsableCommand {
    /// The parts of a comparison.
    enum Part: String, CaseIterable, ExpressibleByArgument {
        case fetches, publishes, pairs, events, reads, workers

        /// What it does with publishes; nil: none.
        var operation: Operation? {
            switch self {
            case .publishes: .publish
            case .pairs: .pair
            case .events: .event
            default: nil
            }
        }
    }

    @Flag var quick = false
    @Option(parsing: .upToNextOption) var parts: [Part] = Part.allCases
    @Option(parsing: .upToNextOption) var servers: [Server] = Server.allCases
    @Option(parsing: .upToNextOption) var sizes: [Int] = []
    @Option var output = "."
    @Option(parsing: .upToNextOption) var serverCores: [Int] = []
    @Option var generatorCore: Int?

    @Option(parsing: .upToNextOption) var loads = [
        Load(connections: 1, inFlight: 1), Load(connections: 16, inFlight: 1),
        Load(connections: 16, inFlight: 16),
    ]
    @Option var samples: Int?
    @Option var seconds = 0.1
    @Option var warmUp = 0.05
    @Option var starts: Int?

    @Option(parsing: .upToNextOption) var publishers = [1, 64]
    @Option(parsing: .upToNextOption) var connections = [1, 16, 64]
    @Option(parsing: .upToNextOption) var watchers = [1, 16, 256]
    @Option var rounds: Int?
    @Option var roundSeconds: Double?
    @Option(parsing: .upToNextOption) var ids: [Turnover] = [.replaced, .new]
    @Option var idCount: Int?
    @Option(parsing: .upToNextOption) var owners: [Owners] = []
    @Option(parsing: .upToNextOption) var stored = [0]
    @Option(name: .customLong("filesystems"), parsing: .upToNextOption)
    var fileSystems: [String] = []
    @Flag var inFiles = false
    /// The script puts the folder in memory; publishes find that by themselves.
    @Flag var dataInMemory = false

    @Option(parsing: .upToNextOption) var floor: [String] = []

    /// For sockets and data.
    @Option var folder: String
    /// blobd's executable, and where it was built.
    @Option var blobd: String
    @Option var repository: String

    /// Values of a list are also separated by commas.
    static func main() {
        main(
            CommandLine.arguments.dropFirst().flatMap {
                $0.contains("/") ? [$0] : $0.split(separator: ",").map(String.init)
            })
    }

    mutating func run() throws {
        let cores = try Machine.cores()
        guard cores.count > 1 || (!serverCores.isEmpty && generatorCore != nil) else {
            throw CompareFailure("one core is too few: server and load need one each")
        }
        let generatorCore = generatorCore ?? cores[cores.count - 1]
        let plan = try makePlan(generatorCore)
        let publishPlan = try makePublishPlan(generatorCore)
        // Better now than after an hour.
        try FileManager.default.createDirectory(
            atPath: output, withIntermediateDirectories: true)
        let place = Place(
            folder: folder,
            cores: serverCores.isEmpty ? Array(cores.prefix(max(cores.count / 2, 1))) : serverCores,
            blobd: blobd, floor: floor, programs: Self.programFolder)
        var report = Report(
            machine: try Machine.facts(folder: folder, repository: repository, cores: cores),
            method: try plan.method(serverCores: place.cores))
        let progress = Progress(
            secondsExpected: secondsExpected(plan) + publishPlan.secondsExpected)

        // The place is that of the last start, whose store is read in process.
        var sampling = Sampling(plan: plan, place: place, progress: progress)
        if !Set(parts).isDisjoint(with: [.fetches, .reads, .workers]) {
            for start in 0..<(parts.contains(.fetches) ? plan.starts : 1) {
                if start > 0 { sampling.place.remove() }
                sampling.place = try place.within("\(start)")
                try serve(sampling, start: start, &report)
            }
            if parts.contains(.reads), plan.sizes.contains(Plan.readByteCount) {
                report.readByteCount = Plan.readByteCount
                report.reads = try sampling.reads(store: Fleet.store)
                report.instructionsPerRead = try sampling.instructions(store: Fleet.store)
            }
        }
        if !publishPlan.operations.isEmpty {
            report.publishes = try Publishing(
                plan: publishPlan, place: place, progress: progress
            ).report()
        }
        // The last, since it lets the load generator leave its core.
        if parts.contains(.workers) {
            report.workers = try sampling.workers(store: Fleet.store, cores: cores)
        }

        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let path = "\(output)/report.json"
        try encoder.encode(report).write(to: URL(filePath: path), options: .atomic)
        progress.finish()
        print(path)
    }

    /// Starts the servers, fills them, asks them, and stops them. The daemon's store is left.
    private func serve(_ sampling: Sampling, start: Int, _ report: inout Report) throws {
        let plan = sampling.plan
        sampling.progress.part("storing \(plan.sizes.map(sizeText).joined(separator: ", "))")
        let fleet = try Fleet(
            parts.contains(.fetches) ? plan.servers : [.baselineWritev], in: sampling.place,
            payloads: try plan.sizes.map(Plan.payloads)
        ) { sampling.progress.step("storing in \($0)") }
        defer { fleet.stop() }
        guard parts.contains(.fetches) else { return }
        report.servers = fleet.contenders.map(\.facts).filter {
            plan.servers.contains($0.server)
        }
        report.fetches += try sampling.fetches(fleet, numbers: plan.numbers(ofStart: start))
    }

    private func makePlan(_ generatorCore: Int) throws -> Plan {
        let plan = Plan(
            sampleCount: samples ?? (quick ? 3 : 36), seconds: seconds, warmUpSeconds: warmUp,
            starts: starts ?? (quick ? 1 : 3),
            sizes: sizes.isEmpty ? [1 << 10, 16 << 10, 128 << 10, 1 << 20] : sizes.sorted(),
            loads: loads, servers: Server.allCases.filter { servers.contains($0) && $0 != .floor },
            generatorCore: generatorCore)
        try Self.check("--samples", plan.sampleCount, 1...1_000)
        try Self.check("--seconds", plan.seconds, 0.01...60)
        try Self.check("--starts", plan.starts, 1...20)
        try Self.check("--warm-up", plan.warmUpSeconds, 0...60)
        for size in plan.sizes { try Self.check("--sizes", size, LoadLimits.payloadByteCount) }
        return plan
    }

    func makePublishPlan(_ generatorCore: Int) throws -> PublishPlan {
        let plan = PublishPlan(
            operations: Part.allCases.filter(parts.contains).compactMap(\.operation),
            sizes: sizes.isEmpty ? PublishPlan.usualSizes : sizes.sorted(),
            connections: [
                .publish: publishers.sorted(), .pair: connections.sorted(),
                .event: watchers.sorted(),
            ],
            turnovers: ids, owners: owners.isEmpty ? nil : owners.map { $0 == .with },
            stored: stored, replacedIDs: idCount,
            fileSystems: fileSystems.isEmpty ? nil : fileSystems, inFiles: inFiles,
            roundCount: rounds ?? (quick ? 2 : 5), seconds: roundSeconds ?? (quick ? 0.5 : 2),
            servers: PublishPlan.measured.filter {
                servers.contains($0) && ($0 != .floor || !floor.isEmpty)
            },
            isQuick: quick,
            generatorCore: generatorCore)
        try Self.check("--rounds", plan.roundCount, 1...100)
        try Self.check("--round-seconds", plan.seconds, 0.1...60)
        for (name, counts) in [
            ("--publishers", publishers), ("--connections", connections), ("--watchers", watchers),
        ] {
            for count in counts { try Self.check(name, count, LoadLimits.connections) }
        }
        if let idCount { try Self.check("--id-count", idCount, LoadLimits.payloadCount) }
        for count in stored {
            try Self.check("--stored", count, 0...100_000_000)
            guard count.isMultiple(of: PublishPlan.newCount) else {
                throw ValidationError(
                    "--stored is \(count); it is a multiple of \(PublishPlan.newCount)")
            }
        }
        return plan
    }

    /// Throws when an option is out of its bounds.
    private static func check<Value: Comparable>(
        _ name: String, _ value: Value, _ bounds: ClosedRange<Value>
    ) throws {
        guard bounds.contains(value) else {
            throw ValidationError(
                "\(name) is \(value); it is \(bounds.lowerBound)…\(bounds.upperBound)")
        }
    }

    /// What the samples take together.
    private func secondsExpected(_ plan: Plan) -> Double {
        var samples = 0
        var longSamples = 0
        var others = 0.0
        if parts.contains(.fetches) {
            samples += plan.sizes.count * plan.loads.count * plan.servers.count
            others +=
                Double(plan.sizes.count * plan.servers.count * plan.starts) * Plan.checkSeconds
        }
        if parts.contains(.reads) { samples += Reader.allCases.count }
        if parts.contains(.workers) { longSamples += Plan.workerCells.count * 2 }
        return Double(samples * plan.sampleCount) * plan.sampleSeconds
            + Double(longSamples * plan.longSampleCount) * plan.longSampleSeconds + others
    }

    /// Where this executable is, and the others of this package.
    private static var programFolder: String {
        let path = Shell.output("readlink /proc/\(getpid())/exe")
        return path.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" }
    }
}

/// Why there is no comparison, in words for people.
struct CompareFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

/// Whether publishes have owners, as it is typed.
enum Owners: String, CaseIterable, ExpressibleByArgument { case with, without }

extension Server: ExpressibleByArgument {}
extension Turnover: ExpressibleByArgument {}

/// As it is typed: `16x1`.
extension Load: ExpressibleByArgument {
    init?(argument: String) {
        let parts = argument.split(separator: "x").compactMap { Int($0) }
        guard parts.count == 2, LoadLimits.connections.contains(parts[0]),
            LoadLimits.depth.contains(parts[1])
        else { return nil }
        self.init(connections: parts[0], inFlight: parts[1])
    }
}
