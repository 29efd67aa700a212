import ArgumentParser
import Glibc
import TestSupport

/// Gives the daemon few descriptors and far too many connectors.
struct DescriptorsScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "descriptors",
        abstract: "128 descriptors and 3,000 connectors: does the daemon spin, does it recover?",
        discussion: """
            While the connectors hold on, the daemon may use at most 5 % of a processor. When \
            they go away it must answer.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many try to connect.")
    var connectors = 3_000

    @Option(help: "How many descriptors the daemon may have.")
    var descriptors = 128

    @Option(help: "How long the daemon is watched while it is full, in seconds. With --short: 2.")
    var seconds: Int?

    var secondsMax: UInt32 { UInt32(clamping: 120 + (seconds ?? 5)) }

    func torture(_ bench: inout Workbench) throws -> [String] {
        try raiseDescriptorLimit(to: connectors + 100)
        var daemon = try DaemonUnderTest.serving(
            bench, prefix: ["prlimit", "--nofile=\(descriptors):\(descriptors)"])
        var crowd: [RawSocket] = []
        let waiting = try connectMore(&crowd, at: daemon.socket)
        Clock.pause(microseconds: 500_000)
        let open = try ProcessFigures.descriptorCount(of: daemon.pid)
        try require(
            open < descriptors && open > descriptors / 3,
            "the daemon has \(open) descriptors open, which is not what full looks like")
        let before = try ProcessFigures.processorMilliseconds(of: daemon.pid)
        let begin = Clock.milliseconds()
        while Clock.milliseconds() < begin + (seconds ?? (options.short ? 2 : 5)) * 1_000 {
            // Those that found the queue full try again, as clients do.
            _ = try connectMore(&crowd, at: daemon.socket)
            Clock.pause(microseconds: 100_000)
        }
        let elapsed = Clock.milliseconds() - begin
        let used = try ProcessFigures.processorMilliseconds(of: daemon.pid) - before
        try daemon.requireRunning("while it was full")
        let permille = used * 1_000 / elapsed
        try require(
            permille < 50, "a full daemon used \(used) ms of processor time in \(elapsed) ms")
        crowd = []
        let recovery = Clock.milliseconds()
        try require(daemon.isAnswering(), "the daemon does not answer after the crowd has gone")
        let recovered = Clock.milliseconds() - recovery
        let limit = options.short ? 30_000 : 1_000
        try require(
            recovered <= limit, "the daemon answered \(recovered) ms after the crowd had gone")
        return [
            "\(waiting) of \(connectors) connected or waiting, \(open) descriptors open",
            "\(used) ms of processor time in \(elapsed) ms",
            "answered \(recovered) ms after they went",
        ]
    }

    /// Connects those that are not connected, until the daemon's queue is full. Returns how many
    /// are.
    private func connectMore(_ crowd: inout [RawSocket], at path: String) throws -> Int {
        while crowd.count < connectors {
            guard let socket = RawSocket(connectingTo: path) else {
                let code = errno
                try require(code == EAGAIN, "connecting failed: \(words(code))")
                break
            }
            crowd.append(socket)
        }
        return crowd.count
    }
}
