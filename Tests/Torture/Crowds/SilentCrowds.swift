import BlobClient
import Glibc
import TestSupport

/// Connections that are open and silent; every other one has said hello and read the answer.
struct IdleCrowd: CrowdKind {
    static let name = "idle"
    static let line = "Many idle connections: what does the daemon hold for them?"
    static let details = """
        Half of them say hello and wait for the answer, the others nothing at all. A connection may
        cost 8 KB, and none may be lost.
        """
    static let sizes = (usual: CrowdSize(clients: 10_000), short: CrowdSize(clients: 1_000))
    static func byteCountMax(_ size: CrowdSize, isShort: Bool) -> (beside: Int?, after: Int?) {
        // What a few workers' buffers take does not shrink with the number of connections.
        (size.clients * 8_000 + (isShort ? 8 << 20 : 0), nil)
    }

    let daemon: CrowdedDaemon
    private var sockets: [RawSocket] = []

    init(_ daemon: CrowdedDaemon) { self.daemon = daemon }

    mutating func come() throws {
        sockets = try (0..<daemon.size.clients).map { index in
            let socket = try RawSocket.connect(to: daemon.socket)
            if index.isMultiple(of: 2) {
                let answer = try socket.ask(helloFrame)
                try require(answer.status == 200, "hello was answered \(answer.status)")
            }
            return socket
        }
    }

    mutating func stay() throws -> [String] {
        let count = daemon.size.clients
        let open = try ProcessFigures.descriptorCount(of: daemon.pid)
        try require(open >= count, "of \(count) connections only \(open) descriptors are open")
        var connection = try daemon.connect()
        try connection.ping()
        try require(sockets.allSatisfy { !$0.hasInput() }, "connections were lost")
        return []
    }
}

/// Far more connectors than the daemon has descriptors.
struct DescriptorsCrowd: CrowdKind {
    static let name = "descriptors"
    static let line = "128 descriptors and 3,000 connectors: does the daemon spin?"
    static let details =
        "While the connectors hold on, the daemon may use at most 5 % of a processor."
    static let sizes = (
        usual: CrowdSize(clients: 3_000, seconds: 5), short: CrowdSize(clients: 3_000, seconds: 2)
    )
    private static let descriptors = 128
    static func descriptorCountMax(_ size: CrowdSize) -> Int { descriptors }
    static func arguments(_ size: CrowdSize) -> [String] { [] }
    static func byteCountMax(_ size: CrowdSize, isShort: Bool) -> (beside: Int?, after: Int?) {
        (32 << 20, 16 << 20)
    }

    let daemon: CrowdedDaemon
    private var sockets: [RawSocket] = []

    init(_ daemon: CrowdedDaemon) { self.daemon = daemon }

    /// Connects those that are not connected, until the daemon's queue is full.
    mutating func come() throws {
        while sockets.count < daemon.size.clients {
            guard let socket = RawSocket(connectingTo: daemon.socket) else {
                let code = errno
                try require(code == EAGAIN, "connecting failed: \(words(code))")
                break
            }
            sockets.append(socket)
        }
    }

    mutating func stay() throws -> [String] {
        let waiting = sockets.count
        // Full: as many are open as there may be, but for those that are kept for files.
        try Clock.wait(milliseconds: 10_000, orThrow: "the daemon does not look full") {
            try ProcessFigures.descriptorCount(of: daemon.pid) > Self.descriptors / 3
        }
        let before = try ProcessFigures.processorMilliseconds(of: daemon.pid)
        let begin = Clock.milliseconds()
        while Clock.milliseconds() < begin + daemon.size.seconds * 1_000 {
            // Those that found the queue full try again, as clients do.
            try come()
            Clock.pause(microseconds: 100_000)
        }
        let elapsed = Clock.milliseconds() - begin
        let used = try ProcessFigures.processorMilliseconds(of: daemon.pid) - before
        try require(
            used * 20 < elapsed,
            "a full daemon used \(used) ms of processor time in \(elapsed) ms")
        let open = try ProcessFigures.descriptorCount(of: daemon.pid)
        try require(open < Self.descriptors, "\(open) of \(Self.descriptors) descriptors are open")
        return [
            "\(waiting) connected or waiting, \(open) descriptors open",
            "\(used) ms of processor time in \(elapsed) ms",
        ]
    }
}
