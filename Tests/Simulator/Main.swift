import Glibc
import SimulatedSystem
import TestSupport

/// `blobd-simulator`: leaders, followers and their bucket in one process, driven by seeds.
@main
struct Main {
    static let usage = """
        usage: blobd-simulator [--seed N | --seeds A...B | --seconds S [--from N]] [--all] [--trace] [--verbose]
               blobd-simulator --shrink N
          --seed N      plays one seed; with --trace all that happens
          --seeds A...B plays these
          --seconds S   plays seeds until then, on all cores
          --all         goes on after a finding, and groups findings
          --jobs N      processes
          --shrink N    makes a failing run smaller
        """

    static func main() throws {
        // Swift's dictionaries are in another order in each process otherwise.
        if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
            setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
            setenv("SWIFT_BACKTRACE", "enable=no", 0)
            var arguments: [UnsafeMutablePointer<CChar>?] = CommandLine.arguments.map { strdup($0) }
            arguments.append(nil)
            execv("/proc/self/exe", arguments)
        }
        sim_line_output()
        // As the daemon does. Backups are cut off in the middle.
        signal(SIGPIPE, SIG_IGN)
        var options = CommandLineOptions()
        guard options.parse(CommandLine.arguments.dropFirst()) else {
            print(usage)
            exit(2)
        }
        exit(run(options))
    }

    private static func run(_ options: CommandLineOptions) -> Int32 {
        let folder = "/dev/shm/blobd-simulator-\(getpid())"
        defer { sim_folder_replace(folder, nil); rmdir(folder) }
        if let seed = options.shrunk {
            let swarm = options.swarm(seed)
            let kind = inChild { Campaign.play(swarm, in: folder).finding?.kind ?? "" }
            guard !kind.isEmpty else {
                print("seed \(seed) finds nothing")
                return 2
            }
            let smallest = Campaign.shrink(swarm, kind, in: folder)
            print("\(kind)\n\(smallest.description)\ndropped: \(smallest.dropped.count)")
            print(replay(smallest))
            return 1
        }
        if let seed = options.seed {
            let swarm = options.swarm(seed)
            print(swarm.description)
            let result = Campaign.play(swarm, in: folder, options.isTracing ? .prints : .hashes)
            print("trace \(result.trace)")
            print(result.finding.map { "FINDING \($0)" } ?? "nothing found")
            return result.finding == nil ? 0 : 1
        }
        return Workers(options).run()
    }

    /// How to play a run again that was made smaller.
    private static func replay(_ swarm: Swarm) -> String {
        "replay: --seed \(swarm.seed) --events \(swarm.eventCount) --hosts \(swarm.hostCount) --nesting \(swarm.nestingPercent) --features \(swarm.features.map(\.rawValue).sorted().joined(separator: ",")) --dropped \(swarm.dropped.sorted().map(String.init).joined(separator: ","))"
    }

    /// Runs a body in another process, which may die.
    static func inChild(_ body: () -> String) -> String {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return "" }
        let child = sim_fork()
        if child == 0 {
            close(ends[0])
            let text = Array(body().utf8)
            _ = write(ends[1], text, text.count)
            _exit(0)
        }
        close(ends[1])
        var text: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = read(ends[0], &piece, piece.count)
            guard count > 0 else { break }
            text += piece[..<count]
        }
        close(ends[0])
        var status: Int32 = 0
        waitpid(child, &status, 0)
        if status & 0x7F != 0 { return "the process was killed by the signal \(status & 0x7F)" }
        return String(decoding: text, as: UTF8.self)
    }
}

/// What was asked for.
struct CommandLineOptions {
    var seed: UInt64?
    var seeds: ClosedRange<UInt64> = 1...1_000_000_000
    var seconds: Int?
    var shrunk: UInt64?
    var continues = false
    var isTracing = false
    var isVerbose = false
    var jobCount = 2
    private var changes: [(inout Swarm) -> Void] = []

    mutating func parse(_ arguments: ArraySlice<String>) -> Bool {
        var rest = arguments
        func number(_ text: String?) -> UInt64? { text.flatMap { UInt64($0) } }
        while let name = rest.popFirst() {
            switch name {
            case "--all": continues = true
            case "--trace": isTracing = true
            case "--verbose": isVerbose = true
            default:
                guard let value = rest.popFirst() else { return false }
                switch name {
                case "--seeds":
                    let ends = value.split(separator: ".").compactMap { UInt64($0) }
                    guard ends.count == 2, ends[0] <= ends[1] else { return false }
                    seeds = ends[0]...ends[1]
                case "--features":
                    let names = value.split(separator: ",").map(String.init)
                    let features = names.compactMap { Swarm.Feature(rawValue: $0) }
                    guard names.count == features.count else { return false }
                    changes.append { $0.features = Set(features) }
                case "--without":
                    let names = value.split(separator: ",").map(String.init)
                    let features = names.compactMap { Swarm.Feature(rawValue: $0) }
                    guard names.count == features.count else { return false }
                    changes.append { $0.features.subtract(features) }
                case "--dropped":
                    let events = value.split(separator: ",").compactMap { Int($0) }
                    changes.append { $0.dropped = Set(events) }
                default:
                    guard let number = number(value) else { return false }
                    switch name {
                    case "--seed": seed = number
                    case "--seconds": seconds = Int(number)
                    case "--from": seeds = number...1_000_000_000_000
                    case "--shrink": shrunk = number
                    case "--jobs": jobCount = Int(number)
                    case "--events": changes.append { $0.eventCount = Int(number) }
                    case "--hosts": changes.append { $0.hostCount = Int(number) }
                    case "--nesting": changes.append { $0.nestingPercent = Int(number) }
                    default: return false
                    }
                }
            }
        }
        return seed != nil || shrunk != nil || seconds != nil || seeds.upperBound < 1_000_000_000
    }

    func swarm(_ seed: UInt64) -> Swarm {
        var swarm = Swarm(seed: seed)
        for change in changes { change(&swarm) }
        return swarm
    }
}
