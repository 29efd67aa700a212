import ArgumentParser
import Comparison
import Glibc
import LoadGenerator

/// `compare run`: measures, and writes the report.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Measure, and write the report.",
        discussion: """
            Writes report.json with every sample, report.html and report.md. Nothing else should run \
            on the machine meanwhile.

              Benchmarks/compare                       everything, about half an hour
              Benchmarks/compare --quick               a look at everything, in about five minutes
              Benchmarks/compare --parts publishes     one part, in about ten minutes
            """)

    /// The parts of a comparison.
    enum Part: String, CaseIterable, ExpressibleByArgument {
        case fetches, publishes, reads, workers
    }

    @Option(help: "Samples of each server in each cell, 1…1000; 36 without it.")
    var samples: Int?

    @Option(
        help: """
            Seconds of a sample that count, 0.01…60; 0.1 without it. Workers have a sixth of the \
            samples, but not less than five, and as much time in all.
            """)
    var seconds: Double?

    @Option(
        help: """
            How often the servers are started and filled anew, 1…20; 3 without it. The samples are \
            shared out among the starts.
            """)
    var starts: Int?

    @Option(help: "Seconds of a sample before they count, 0…60.")
    var warmUp: Double?

    @Flag(help: "Three short samples each: to see that all works, not to quote.")
    var quick = false

    @Option(parsing: .upToNextOption, help: "Which parts: fetches, publishes, reads, workers.")
    var parts: [Part] = Part.allCases

    @Option(
        parsing: .upToNextOption,
        help: "Payload sizes in bytes. Without it: 1, 16 and 128 KiB, and 1 MiB for fetches.")
    var sizes: [Int] = []

    @Option(parsing: .upToNextOption, help: "Loads, as connections x in flight.")
    var loads: [LoadText] = [
        LoadText(load: Load(connections: 1, inFlight: 1)),
        LoadText(load: Load(connections: 16, inFlight: 1)),
        LoadText(load: Load(connections: 16, inFlight: 16)),
    ]

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Who is asked for fetches and publishes, of \(names). Without it: all.",
            valueName: "name"),
        transform: { name in
            guard let server = Server(rawValue: name) else {
                throw ValidationError("no server is called \(name); they are \(names)")
            }
            return server
        })
    var servers: [Server] = Server.allCases

    private static let names = Server.allCases.map(\.rawValue).joined(separator: ", ")

    @OptionGroup(title: "Publishes")
    var publishOptions: PublishOptions

    @Option(parsing: .upToNextOption, help: "The servers' cores. Without it: the first half.")
    var serverCores: [Int] = []

    @Option(help: "The load generator's core. Without it: the last.")
    var generatorCore: Int?

    @Option(help: ArgumentHelp("A folder for sockets and data, on a disk.", valueName: "folder"))
    var folder: String

    @Option(help: ArgumentHelp("Where the report goes.", valueName: "folder"))
    var output: String = "."

    @Option(help: ArgumentHelp("blobd's executable.", valueName: "path"))
    var blobd: String

    @Option(help: ArgumentHelp("Where it was built from.", valueName: "folder"))
    var repository: String

    mutating func run() throws {
        let cores = Machine.cores
        guard cores.count > 1 || (!serverCores.isEmpty && generatorCore != nil) else {
            throw CompareFailure("one core is too few: server and load need one each")
        }
        let plan = try makePlan(cores)
        let files = try ReportFiles(folder: output)
        let place = Place(
            folder: folder, cores: serverCores.isEmpty ? Self.serverCores(cores) : serverCores,
            blobd: blobd, programs: Self.programFolder)
        var report = Report(
            machine: try Machine.facts(folder: folder, repository: repository), servers: [],
            method: Method(
                sampleCount: plan.sampleCount, seconds: plan.seconds,
                warmUpSeconds: plan.warmUpSeconds, starts: plan.starts,
                longSampleCount: plan.longSampleCount, longSeconds: plan.longSeconds,
                serverCores: place.cores, generatorCore: plan.generatorCore,
                payloadCounts: try plan.sizes.reduce(into: [:]) {
                    $0[$1] = try Plan.payloads($1).count
                }))
        let expected =
            try secondsExpected(plan)
            + (parts.contains(.publishes) ? publishPlan(cores).secondsExpected : 0)
        let progress = Progress(secondsExpected: expected)
        progress.part("about \(Int(expected / 60) + 1) minutes")
        try measure(Sampling(plan: plan, place: place, progress: progress), cores, &report)
        try files.write(report)
        progress.finish()
        print(Markdown(report).text)
    }

    private func measure(_ all: Sampling, _ cores: [Int], _ report: inout Report) throws {
        let (plan, place) = (all.plan, all.place)
        // The place is that of the last start, whose store is read in process.
        var sampling = all
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
        if parts.contains(.publishes) {
            report.publishes = try Publishing(
                plan: publishPlan(cores), place: place, progress: all.progress
            ).report()
        }
        // The last, since it lets the load generator leave its core.
        if parts.contains(.workers) {
            report.workers = try sampling.workers(store: Fleet.store, cores: cores)
        }
    }

    /// Starts the servers, fills them, asks them, and ends them. The daemon's store is left.
    private func serve(_ sampling: Sampling, start: Int, _ report: inout Report) throws {
        let plan = sampling.plan
        sampling.progress.part(
            "storing \(plan.sizes.map(NumberText.bytes).joined(separator: ", "))")
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

    private func makePlan(_ cores: [Int]) throws -> Plan {
        let plan = Plan(
            sampleCount: samples ?? (quick ? 3 : 36), seconds: seconds ?? 0.1,
            warmUpSeconds: warmUp ?? 0.05, starts: starts ?? (quick ? 1 : 3),
            sizes: sizes.isEmpty ? [1 << 10, 16 << 10, 128 << 10, 1 << 20] : sizes.sorted(),
            loads: loads.map(\.load), servers: Server.allCases.filter { servers.contains($0) },
            generatorCore: generatorCore ?? cores[cores.count - 1])
        try Self.check("--samples", plan.sampleCount, 1...1_000)
        try Self.check("--seconds", plan.seconds, 0.01...60)
        try Self.check("--starts", plan.starts, 1...20)
        try Self.check("--warm-up", plan.warmUpSeconds, 0...60)
        for size in plan.sizes { try Self.check("--sizes", size, LoadLimits.payloadByteCount) }
        return plan
    }

    private func publishPlan(_ cores: [Int]) throws -> PublishPlan {
        try publishOptions.plan(
            sizes: sizes, servers: servers, isQuick: quick,
            generatorCore: generatorCore ?? cores[cores.count - 1])
    }

    /// Throws when an option is out of its bounds.
    static func check<Value: Comparable>(
        _ name: String, _ value: Value, _ bounds: ClosedRange<Value>
    ) throws {
        guard bounds.contains(value) else {
            throw ValidationError(
                "\(name) is \(value); it is \(bounds.lowerBound)…\(bounds.upperBound)")
        }
    }

    /// What the samples take together.
    private func secondsExpected(_ plan: Plan) -> Double {
        let around = plan.warmUpSeconds + Sampling.secondsAround
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
        return Double(samples * plan.sampleCount) * (plan.seconds + around)
            + Double(longSamples * plan.longSampleCount) * (plan.longSeconds + around) + others
    }

    private static func serverCores(_ cores: [Int]) -> [Int] {
        Array(cores.prefix(max(cores.count / 2, 1)))
    }

    /// Where this executable is, and the others of this package.
    private static var programFolder: String {
        let path = Shell.output("readlink /proc/\(getpid())/exe")
        return path.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" }
    }
}

/// A load as it is typed: `16x1`.
struct LoadText: ExpressibleByArgument {
    var load: Load

    init(load: Load) { self.load = load }

    init?(argument: String) {
        let parts = argument.split(separator: "x").compactMap { Int($0) }
        guard parts.count == 2, LoadLimits.connections.contains(parts[0]),
            LoadLimits.depth.contains(parts[1])
        else { return nil }
        load = Load(connections: parts[0], inFlight: parts[1])
    }

    var defaultValueDescription: String { "\(load.connections)x\(load.inFlight)" }
}
