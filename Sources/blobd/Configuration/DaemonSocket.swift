/// Where a client looks for the daemon of this machine.
enum DaemonSocket {
    /// The socket of the package's unit.
    static let defaultPath = "/run/blobd/blobd.sock"
    /// The variable that names the socket, for clients and for the daemon.
    static let variable = "BLOBD_SOCKET"

    /// The path: that of the environment, or of the daemon's configuration, or the default. A configuration that
    /// cannot be read is the daemon's concern, and names nothing.
    static func path(in environment: [String: String]) -> String {
        if let path = environment[variable], !path.isEmpty { return path }
        let file = ServeConfiguration.path(in: environment)
        let configured = file.flatMap { try? ConfigurationFile(reading: $0).text(of: "socket") }
        return configured ?? defaultPath
    }
}
