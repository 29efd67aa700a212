import BlobStore
import CLinux
import Glibc

/// The interface to systemd: passed sockets, readiness and watchdog (sd_listen_fds(3), sd_notify(3)). Only the main
/// thread uses it.
package struct ServiceManager {
    package struct Sockets {
        var main: Int32?
        var device: Int32?
    }

    package let sockets: Sockets
    /// How often to report progress: twice as often as the manager requires; nil: never.
    let watchdogMilliseconds: Int?
    /// The manager's address as bytes; empty: none.
    private let address: [UInt8]

    /// The name of the passed device socket (`FileDescriptorName=`).
    private static let deviceName = "devices"

    /// Removes the variables from the environment: they are not for child processes.
    package init() throws(StartFailure) {
        var variables: [String: String] = [:]
        for name in Self.variables {
            guard let value = getenv(name) else { continue }
            // No other thread exists yet that could change the environment.
            variables[name] = String(cString: value)
            unsetenv(name)
        }
        func isOurs(_ name: String) -> Bool {
            variables[name].map { $0 == "\(getpid())" } ?? true
        }
        address = Self.address(variables["NOTIFY_SOCKET"] ?? "")
        let interval = variables["WATCHDOG_USEC"].flatMap { Int($0) } ?? 0
        watchdogMilliseconds =
            interval > 0 && isOurs("WATCHDOG_PID") ? max(1, interval / 2_000) : nil
        let count = isOurs("LISTEN_PID") ? variables["LISTEN_FDS"].flatMap { Int32($0) } ?? 0 : 0
        let names = (variables["LISTEN_FDNAMES"] ?? "").split(
            separator: ":", omittingEmptySubsequences: false)
        sockets = try Self.sockets(count, names)
    }

    private static let variables = [
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID",
        "LISTEN_FDNAMES",
    ]

    /// The first passed descriptor (SD_LISTEN_FDS_START).
    private static let firstDescriptor: Int32 = 3

    private static func sockets(
        _ count: Int32, _ names: [Substring]
    ) throws(StartFailure) -> Sockets {
        var sockets = Sockets()
        for index in 0..<max(0, count) {
            let number = firstDescriptor + index
            _ = clinux_close_at_exec(number)
            let name = Int(index) < names.count ? names[Int(index)] : ""
            if name == deviceName, sockets.device == nil {
                sockets.device = number
            } else if name != deviceName, sockets.main == nil {
                sockets.main = number
            } else {
                throw StartFailure(
                    description:
                        "LISTEN_FDS: \(count) sockets were passed; expected one, and optionally one named \(deviceName)"
                )
            }
        }
        return sockets
    }

    /// A path, or `@` and a name in the abstract namespace.
    private static func address(_ text: String) -> [UInt8] {
        var bytes = Array(text.utf8)
        guard bytes.first == UInt8(ascii: "/") || bytes.first == UInt8(ascii: "@"),
            bytes.count < Int(CLINUX_PATH_MAX)
        else { return [] }
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        return bytes
    }

    package var hasMainSocket: Bool { sockets.main != nil }
    package var hasDeviceSocket: Bool { sockets.device != nil }

    enum State {
        case ready
        case reloading
        case stopping
        case alive

        fileprivate var line: String {
            switch self {
            case .ready: "READY=1"
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(clinux_monotonic_ns() / 1_000)"
            case .stopping: "STOPPING=1"
            case .alive: "WATCHDOG=1"
            }
        }
    }

    /// Reports a state, with a line for display. Does not wait for a manager that does not listen.
    func notify(_ state: State, status: String) {
        guard !address.isEmpty else { return }
        let message = Array("\(state.line)\nSTATUS=\(status)".utf8)
        guard let socket = try? OwnedDescriptor(taking: clinux_datagram_socket(), from: "socket")
        else { return }
        _ = clinux_send_datagram(
            socket.number, address, address.count, message, message.count, 1)
    }
}
