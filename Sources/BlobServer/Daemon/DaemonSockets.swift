import Glibc
import Logging

/// The sockets that a daemon listens on. Their files are removed with this value at the latest.
struct DaemonSockets {
    let main: SocketFile
    private let device: SocketFile?
    private let allowedUserIDs: [UInt32]

    /// Takes the sockets that the service manager passes, and creates the others.
    init(_ options: DaemonOptions, _ manager: ServiceManager, _ log: Logger) throws {
        main = try Self.main(options, manager, log)
        device = try Self.device(options, manager, log)
        allowedUserIDs = options.allowedUserIDs
    }

    private static func main(
        _ options: DaemonOptions, _ manager: ServiceManager, _ log: Logger
    ) throws -> SocketFile {
        if let passed = manager.sockets.main {
            return try take(passed, "socket-group", options.socketGroup, log)
        }
        return try SocketFile(
            path: options.socketPath, mode: options.socketMode, group: options.socketGroup)
    }

    private static func device(
        _ options: DaemonOptions, _ manager: ServiceManager, _ log: Logger
    ) throws -> SocketFile? {
        if let passed = manager.sockets.device {
            return try take(passed, "device-socket-group", options.deviceSocketGroup, log)
        }
        guard let path = options.deviceSocketPath else { return nil }
        return try SocketFile(
            path: path, mode: options.deviceSocketMode, group: options.deviceSocketGroup,
            flag: "--device-socket")
    }

    /// Takes a passed socket. Its group comes from its unit, regardless of the configuration.
    private static func take(
        _ descriptor: Int32, _ setting: String, _ group: UInt32?, _ log: Logger
    ) throws -> SocketFile {
        let socket = try SocketFile(passed: descriptor)
        var status = stat()
        if let group, lstat(socket.path, &status) == 0, status.st_gid != group {
            log.warning(
                "\(setting) is ignored: \(socket.path) is passed by a socket unit; set SocketGroup= there"
            )
        }
        return socket
    }

    var listeners: [Acceptor.Listener] {
        [main, device].compactMap { $0 }.map { socket in
            Acceptor.Listener(
                number: socket.listener.number, isDevice: socket === device,
                policy: PeerPolicy(allowedUserIDs: allowedUserIDs, trustsMode: socket.trustsMode))
        }
    }

    func remove() {
        main.remove()
        device?.remove()
    }
}
