import Glibc

/// A process that a test started, with a socket to its standard input and output. It is killed when
/// the test lets go of it.
final class Child {
    private let pid: pid_t
    private var input: Int32
    private let output: Int32
    private var buffered: [UInt8] = []
    private var status: Status?

    /// How a process ended.
    enum Status: Equatable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    struct CannotStart: Error {
        var path: String
        var errno: Int32
    }

    /// The folder of the test bundle, where the other products are built, too.
    static let productFolder: String = {
        var path = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let text = String(
            decoding: path[..<max(0, count)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    }()

    static var torturer: String { productFolder + "/store-torture" }

    /// Starts `path`. Its environment is this process's and `environment`; a crash of it is not
    /// traced.
    init(
        _ path: String, _ arguments: [String], environment: [String: String] = [:],
        errorsToOutput: Bool = false
    ) throws {
        var stdin: [Int32] = [0, 0]
        var stdout: [Int32] = [0, 0]
        // Sockets rather than pipes: they are made with close-on-exec, so that no other test's
        // process inherits them.
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &stdin) == 0, socketpair(AF_UNIX, kind, 0, &stdout) == 0
        else { throw CannotStart(path: path, errno: errno) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, stdin[0], 0)
        posix_spawn_file_actions_adddup2(&actions, stdout[1], 1)
        if errorsToOutput { posix_spawn_file_actions_adddup2(&actions, stdout[1], 2) }

        var variables: [String] = []
        var entry = environ
        while let variable = entry.pointee {
            variables.append(String(cString: variable))
            entry += 1
        }
        var added = environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        if let ours = added["LD_PRELOAD"], let inherited = getenv("LD_PRELOAD") {
            // The one that explains locks to the thread sanitizer stays.
            added["LD_PRELOAD"] = ours + ":" + String(cString: inherited)
        }
        variables.removeAll { variable in added.keys.contains { variable.hasPrefix($0 + "=") } }
        variables += added.map { "\($0)=\($1)" }

        // Copies of C strings that live until the process is started.
        var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, path, &actions, nil, &argv, &envp)
        close(stdin[0])
        close(stdout[1])
        input = stdin[1]
        output = stdout[0]
        self.pid = pid
        guard code == 0 else {
            status = .exited(127)
            throw CannotStart(path: path, errno: code)
        }
    }

    deinit {
        if status == nil { kill() }
        _ = wait()
        if input >= 0 { close(input) }
        close(output)
    }

    /// The next line, without its end; nil when the process has closed its output.
    func readLine() -> String? {
        while true {
            if let end = buffered.firstIndex(of: 0x0A) {
                let line = String(decoding: buffered[..<end], as: UTF8.self)
                buffered.removeSubrange(...end)
                return line
            }
            guard fill() else { return nil }
        }
    }

    /// All lines that are left, but an unfinished last one.
    func readLines() -> [String] {
        while fill() {}
        let text = String(decoding: buffered, as: UTF8.self)
        buffered = []
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map { String($0) }
    }

    private func fill() -> Bool {
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(output, &piece, piece.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            buffered += piece[..<count]
            return true
        }
    }

    /// Sends a line to its input.
    func writeLine(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = send(input, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Waits until a line can be read, or its output has ended.
    ///
    /// - Returns: false when nothing came in so many milliseconds.
    func hasOutput(milliseconds: Int32) -> Bool {
        if buffered.contains(0x0A) { return true }
        var request = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, milliseconds) > 0
    }

    func closeInput() {
        close(input)
        input = -1
    }

    func kill() {
        if status == nil { Glibc.kill(pid, SIGKILL) }
    }

    @discardableResult
    func wait() -> Status {
        if let status { return status }
        var raw: Int32 = 0
        while waitpid(pid, &raw, 0) < 0 && errno == EINTR {}
        let signal = raw & 0x7F
        let ended = signal == 0 ? Status.exited((raw >> 8) & 0xFF) : .killed(signal: signal)
        status = ended
        return ended
    }

    /// Starts `path`, waits for its end, and returns what it wrote and how it ended.
    static func run(
        _ path: String, _ arguments: [String], environment: [String: String] = [:],
        errorsToOutput: Bool = false
    ) throws -> (lines: [String], status: Status) {
        let child = try Child(
            path, arguments, environment: environment, errorsToOutput: errorsToOutput)
        child.closeInput()
        let lines = child.readLines()
        return (lines, child.wait())
    }
}
