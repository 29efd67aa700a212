import ArgumentParser
import BlobClient
import BlobProtocol
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
        let crowd = try IdleCrowd(count, at: daemon.socket)
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
        try require(crowd.count == count, "connections were lost")
        crowd.close()
        let closed = try Clock.wait(milliseconds: 20_000) {
            try ProcessFigures.descriptorCount(of: daemon.pid) < count / 10 + 50
        }
        try require(closed, "the daemon keeps the descriptors of connections that have gone")
        return [
            "\(count) connections cost \(mebibytes(grown)), \(grown / count) bytes each",
            "the limit is \(mebibytes(limit))",
        ]
    }
}

/// Connections that are open and silent.
struct IdleCrowd: ~Copyable {
    private var descriptors: [Int32] = []

    /// Opens them; every other one has said hello and read the answer.
    init(_ count: Int, at path: String) throws {
        var hello: [UInt8] = []
        try RequestFrame.compose(.hello, requestID: 1, into: &hello) {
            (out) throws(ProtocolError) in
            Hello.Request().compose(into: &out)
        }
        descriptors.reserveCapacity(count)
        for index in 0..<count {
            let socket = try RawSocket.connect(to: path)
            if index.isMultiple(of: 2) {
                var answer: [UInt8] = []
                let isWhole =
                    try socket.sendAll(hello, answers: &answer)
                    && socket.receive(into: &answer) { $0.count >= 24 + 64 }
                try require(isWhole, "connection \(index) was closed instead of welcomed")
            }
            descriptors.append(dup(socket.descriptor))
        }
    }

    /// How many of them the daemon has left open.
    var count: Int {
        var byte: UInt8 = 0
        return descriptors.count { descriptor in
            recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) != 0
        }
    }

    /// Closes all.
    consuming func close() {}

    deinit {
        for descriptor in descriptors { Glibc.close(descriptor) }
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
