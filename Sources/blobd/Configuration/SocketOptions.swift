import ArgumentParser
import BlobClient
import FoundationEssentials

/// Where the daemon is, and how long to wait for it.
struct SocketOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon's socket. Default: BLOBD_SOCKET, or that of \(ServeConfiguration.defaultPath), or \(DaemonSocket.defaultPath).",
            valueName: "path"))
    var socket: String?

    @Option(
        help: ArgumentHelp(
            "Maximum time without progress, in seconds. 0: no limit.",
            valueName: "seconds"))
    var timeout: Int = 30

    /// The longest timeout, in seconds.
    static let timeoutSecondsMax = 86_400

    func validate() throws {
        guard (0...Self.timeoutSecondsMax).contains(timeout) else {
            throw ValidationError(
                "--timeout is \(timeout); it must be 0 to \(Self.timeoutSecondsMax) seconds")
        }
    }

    /// Connects.
    func connect() throws -> BlobConnection {
        try BlobConnection.connect(to: try path(), options: options())
    }

    /// Makes a further connection to a daemon that has answered; nil where it takes no more in this time, or this
    /// process has too many descriptors.
    func connectAgain(within milliseconds: Int) throws -> BlobConnection? {
        var options = options()
        options.timeoutMilliseconds = milliseconds
        guard var connection = try? BlobConnection.connect(to: try path(), options: options) else {
            return nil
        }
        connection.setTimeout(milliseconds: timeout * 1_000)
        return connection
    }

    func options() -> BlobConnection.Options {
        var options = BlobConnection.Options()
        options.timeoutMilliseconds = timeout * 1_000
        return options
    }

    func path() throws -> String {
        if let socket {
            guard !socket.isEmpty else {
                throw CommandFailure(.badUsage, "--socket must not be empty")
            }
            return socket
        }
        return DaemonSocket.path(in: ProcessInfo.processInfo.environment)
    }
}
