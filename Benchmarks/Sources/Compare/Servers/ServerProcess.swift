import Glibc

/// A server that this process started, and stops.
///
/// Each gets SIGTERM when this process exits for any reason (`setpriv --pdeathsig`), so that Ctrl-C or
/// a crash leaves none behind.
final class ServerProcess {
    let pid: pid_t
    /// What it was started with, for the report.
    let command: String
    private let name: String
    private let log: String
    private var hasExited = false

    private static let startSecondsMax = 20.0
    private static let stopSecondsMax = 15.0

    /// Starts a command on some cores. What it prints goes to the file `log`.
    init(_ arguments: [String], cores: [Int], log: String) throws {
        name = arguments.first.map { String($0.split(separator: "/").last ?? "") } ?? ""
        self.log = log
        command = arguments.joined(separator: " ")
        pid = try Self.spawn(
            ["setpriv", "--pdeathsig", "TERM", "taskset", "-c", Machine.list(cores)] + arguments,
            log: log)
    }

    private static func spawn(_ arguments: [String], log: String) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var pointers = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, arguments[0], &actions, nil, &pointers, environ)
        guard result == 0 else {
            throw CompareFailure(
                "cannot start \(arguments[0]): \(String(cString: strerror(result)))")
        }
        return pid
    }

    /// Waits until it listens at the socket file.
    func waitForSocket(_ path: String) throws {
        let end = monotonicSeconds() + Self.startSecondsMax
        while !Self.listens(path) {
            guard !poll() else {
                throw CompareFailure("\(name) exited at once; it said:\n\(Shell.file(log))")
            }
            guard monotonicSeconds() < end else {
                throw CompareFailure(
                    "\(name) does not listen at \(path) after \(Int(Self.startSecondsMax)) s")
            }
            usleep(10_000)
        }
    }

    private static func listens(_ path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
            guard path.utf8.count < room.count else { return false }
            room.copyBytes(from: path.utf8)
            return true
        }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard fits, descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    /// It and everything it started, such as nginx's worker.
    var processes: [Int32] { Self.tree(of: pid) }

    /// A process and everything it started, as far as it runs.
    static func tree(of pid: pid_t) -> [Int32] {
        var all = [pid]
        var next = 0
        while next < all.count {
            let children = Shell.output("cat /proc/\(all[next])/task/*/children 2>/dev/null")
            all += children.split(separator: " ").compactMap { Int32($0) }
            next += 1
        }
        return all
    }

    /// Whether it has exited.
    private func poll() -> Bool {
        var status: Int32 = 0
        if !hasExited, waitpid(pid, &status, WNOHANG) == pid { hasExited = true }
        return hasExited
    }

    /// Stops it and waits, and kills it when that takes too long. Does nothing the second time.
    func stop() {
        guard !poll() else { return }
        kill(pid, SIGTERM)
        let end = monotonicSeconds() + Self.stopSecondsMax
        while !poll() {
            if monotonicSeconds() > end {
                kill(pid, SIGKILL)
                waitpid(pid, nil, 0)
                hasExited = true
                return
            }
            usleep(5_000)
        }
    }

    deinit { stop() }
}
