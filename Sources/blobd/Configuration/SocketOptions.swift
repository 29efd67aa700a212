import ArgumentParser
import BlobClient
import FoundationEssentials

struct SocketOptions: ParsableArguments {
    @Option(
        help: .named(
            "path",
            "The daemon's socket. Default: BLOBD_SOCKET, or that of \(ServeConfiguration.defaultPath), or \(DaemonSocket.defaultPath)."
        ), completion: .file())
    var socket: String?

    @Option(help: .named("seconds", "Maximum time without progress, in seconds. 0: no limit."))
    var timeout: Int = 30

    static let timeoutSecondsMax = 86_400

    func validate() throws {
        try require(
            (0...Self.timeoutSecondsMax).contains(timeout),
            "--timeout is \(timeout); it must be 0 to \(Self.timeoutSecondsMax) seconds")
    }

    func connect() throws -> BlobConnection {
        try BlobConnection.connect(to: try path(), options: options())
    }

    /// Makes another connection; nil if the daemon does not accept one in this time, or this process has too many
    /// descriptors.
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

enum DaemonSocket {
    static let defaultPath = "/run/blobd/blobd.sock"
    static let variable = "BLOBD_SOCKET"

    static func path(in environment: [String: String]) -> String {
        DaemonSetting.text("socket", variable, in: environment) ?? defaultPath
    }
}

/// Daemon settings that a command uses.
enum DaemonSetting {
    /// A setting from the environment or the daemon's configuration; nil if it is in neither. A configuration that
    /// cannot be read is the daemon's concern.
    static func text(
        _ name: String, _ variable: String, in environment: [String: String]
    ) -> String? {
        if let text = environment[variable], !text.isEmpty { return text }
        let file = ServeConfiguration.path(in: environment)
        return file.flatMap { try? ConfigurationFile(reading: $0).text(of: name) }
    }
}
