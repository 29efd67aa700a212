import ArgumentParser
import Glibc
import TestSupport

/// Opens thousands of connections that say nothing, and looks what they cost.
struct IdleScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "idle",
        abstract: "Many idle connections: what does the daemon hold for them?",
        discussion: """
            Half of them say hello and wait for the answer, the others nothing at all. The \
            daemon's resident memory may grow by 8 KiB for each (80 MB for 10,000), and it \
            still answers.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many connections. With --short: 1,000.")
    var connections: Int?

    @Option(help: "What one connection may cost, in bytes.")
    var byteCountMax = 8_000

    var secondsMax: UInt32 { 120 }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let count = connections ?? (options.short ? 1_000 : 10_000)
        try raiseDescriptorLimit(to: count + 100)
        let daemon = try DaemonUnderTest.serving(
            // Beside the connections, the daemon keeps some for the spool files of uploads.
            bench, prefix: ["prlimit", "--nofile=\(count + 3_000)"],
            arguments: [DaemonFlag.connections, "\(count + 100)"])
        let before = try ProcessFigures(of: daemon.pid)
        var crowd = try Self.silent(count, at: daemon.socket)
        let open = try ProcessFigures.descriptorCount(of: daemon.pid)
        try require(open >= count, "of \(count) connections only \(open) descriptors are open")
        let after = try ProcessFigures(of: daemon.pid)
        let grown = after.residentByteCount - before.residentByteCount
        try require(daemon.isAnswering(), "the daemon does not answer beside \(count) connections")
        // What a few workers' buffers take does not shrink with the number of connections.
        let limit = count * byteCountMax + (options.short ? 8 << 20 : 0)
        try require(
            grown <= limit,
            "\(count) idle connections cost \(mebibytes(grown)); the limit is \(mebibytes(limit))")
        try require(crowd.allSatisfy { !$0.hasInput() }, "connections were lost")
        crowd = []
        let closed = try Clock.wait(milliseconds: 20_000) {
            try ProcessFigures.descriptorCount(of: daemon.pid) < count / 10 + 50
        }
        try require(closed, "the daemon keeps the descriptors of connections that have gone")
        return [
            "\(count) connections cost \(mebibytes(grown)), \(grown / count) bytes each",
            "the limit is \(mebibytes(limit))",
        ]
    }

    /// Connections that are open and silent; every other one has said hello and read the answer.
    private static func silent(_ count: Int, at path: String) throws -> [RawSocket] {
        try (0..<count).map { index in
            let socket = try RawSocket.connect(to: path)
            if index.isMultiple(of: 2) {
                var answer: [UInt8] = []
                let isWhole =
                    try socket.sendAll(helloFrame, answers: &answer)
                    && socket.receive(into: &answer) { $0.count >= 24 + 64 }
                try require(isWhole, "connection \(index) was closed instead of welcomed")
            }
            return socket
        }
    }
}

/// Lets this program have so many descriptors open.
func raiseDescriptorLimit(to count: Int) throws {
    var limit = rlimit(rlim_cur: rlim_t(count), rlim_max: rlim_t(count))
    var now = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &now)
    if now.rlim_cur >= limit.rlim_cur { return }
    limit.rlim_max = max(now.rlim_max, limit.rlim_cur)
    try require(
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0,
        "\(count) descriptors are needed: \(words(errno))")
}
