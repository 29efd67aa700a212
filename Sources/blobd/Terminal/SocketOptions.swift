import ArgumentParser
import BlobClient
import Glibc

/// Where the daemon is, and how long to wait for it.
struct SocketOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The daemon's socket. Without it the environment variable BLOBD_SOCKET names it.",
            valueName: "path"))
    var socket: String?

    @Option(
        help: ArgumentHelp(
            "How long to wait for the daemon to say or take anything; 0: for ever.",
            valueName: "seconds"))
    var timeout: Int = 30

    /// The longest timeout, in seconds.
    static let timeoutSecondsMax = 86_400

    func validate() throws {
        guard (0...Self.timeoutSecondsMax).contains(timeout) else {
            throw ValidationError(
                "--timeout \(timeout) is not within 0…\(Self.timeoutSecondsMax) seconds")
        }
    }

    /// Connects. Exits with 2 when nobody said where to.
    func connect() throws -> BlobConnection {
        try BlobConnection.connect(to: try path(), options: options())
    }

    func options() -> BlobConnection.Options {
        var options = BlobConnection.Options()
        options.timeoutMilliseconds = timeout * 1_000
        return options
    }

    func path() throws -> String {
        if let socket {
            guard !socket.isEmpty else {
                throw CommandFailure(.badUsage, "--socket is empty; it takes the path of a socket")
            }
            return socket
        }
        // The environment is read before any other thread is there to change it.
        if let value = getenv("BLOBD_SOCKET") {
            let path = String(cString: value)
            if !path.isEmpty { return path }
        }
        throw CommandFailure(
            .badUsage,
            "where is the daemon? Give --socket PATH, or set it once: export BLOBD_SOCKET=PATH")
    }
}
