public import Glibc

/// How a process ended.
public enum ProcessEnd: Sendable, Equatable, CustomStringConvertible {
    case exited(Int32)
    case killed(signal: Int32)

    /// Its exit code, as a shell has it: 128 and the signal's number for one that was killed.
    public var code: Int32 {
        switch self {
        case .exited(let code): code
        case .killed(let signal): 128 + signal
        }
    }

    /// For people.
    public var description: String {
        switch self {
        case .exited(let code): "exit code \(code)"
        case .killed(let signal): "signal \(signal)"
        }
    }
}

/// Where a program's standard output, or its errors, go.
public enum ProcessOutput {
    case null
    case descriptor(Int32)
    /// Appended to a file, which is made if need be.
    case file(String)
    /// Where its standard output goes.
    case output
}

/// Starts a program, found by `PATH`, and does not wait for it.
///
/// The signals that this thread blocks are blocked in it: those of Dispatch block all.
/// Its environment is this process's without `BLOBD_SOCKET`, and `environment`. Swift's crash
/// reporter is off.
///
/// - Parameter input: its standard input; nil: empty.
public func spawn(
    _ command: [String], input: Int32? = nil, output: ProcessOutput = .null,
    errors: ProcessOutput = .null, environment: [String: String] = [:]
) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
        posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    for (target, end) in [(Int32(1), output), (2, errors)] {
        switch end {
        case .null: posix_spawn_file_actions_addopen(&actions, target, "/dev/null", O_WRONLY, 0)
        case .descriptor(let source): posix_spawn_file_actions_adddup2(&actions, source, target)
        case .output: posix_spawn_file_actions_adddup2(&actions, 1, target)
        case .file(let path):
            posix_spawn_file_actions_addopen(
                &actions, target, path, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        }
    }
    // Copies of C strings that live until the process is started.
    var argv: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    var envp: [UnsafeMutablePointer<CChar>?] = variables(environment).map { strdup($0) } + [nil]
    defer { for pointer in argv + envp { free(pointer) } }
    var pid = pid_t()
    let code = posix_spawnp(&pid, command[0], &actions, nil, &argv, &envp)
    guard code == 0 else { throw TestFailure(command[0], code) }
    return pid
}

private func variables(_ changes: [String: String]) -> [String] {
    var variables: [String] = []
    var entry = environ
    while let variable = entry.pointee {
        variables.append(String(cString: variable))
        entry += 1
    }
    var added = changes.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    if let ours = added["LD_PRELOAD"], let inherited = getenv("LD_PRELOAD") {
        // The one that explains locks to the thread sanitizer stays.
        added["LD_PRELOAD"] = ours + ":" + String(cString: inherited)
    }
    let gone = added.keys + ["BLOBD_SOCKET"]
    variables.removeAll { variable in gone.contains { variable.hasPrefix($0 + "=") } }
    return variables + added.map { "\($0)=\($1)" }
}

/// Waits until a child has ended. With `WNOHANG` it does not wait, and returns nil while it runs.
public func reap(_ pid: pid_t, _ flags: Int32) -> ProcessEnd? {
    var status: Int32 = 0
    var result = waitpid(pid, &status, flags)
    while result < 0, errno == EINTR { result = waitpid(pid, &status, flags) }
    if result == 0 { return nil }
    // The macros of <sys/wait.h> are not imported: the low seven bits are the signal.
    let signal = status & 0x7F
    return signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: signal)
}

/// Waits until a child has ended.
@discardableResult
public func reap(_ pid: pid_t) -> ProcessEnd { reap(pid, 0) ?? .exited(-1) }

/// Both ends of a connection that no program inherits.
///
/// For programs' outputs too: a pipe that is close-on-exec from the start needs another call.
public func makeSocketPair() throws -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw TestFailure("socketpair", errno) }
    return (ends[0], ends[1])
}

/// Runs a program to its end. Returns how it ended, and what it wrote to both outputs.
///
/// Its outputs are files: two pipes that are read one after the other can wait for each other.
public func run(
    _ command: [String], input: [UInt8]? = nil, environment: [String: String] = [:]
) throws -> (end: ProcessEnd, output: [UInt8], errors: String) {
    let folder = TemporaryFolder()
    var command = command
    if let input {
        // A pipe whose writer is cat: were it this process, a program that does not read would end
        // the tests with SIGPIPE.
        let path = try folder.write("input", input)
        command = ["/bin/sh", "-c", "cat \"$0\" | \"$@\"", path] + command
    }
    let pid = try spawn(
        command, output: .file(folder.path("output")), errors: .file(folder.path("errors")),
        environment: environment)
    let end = reap(pid)
    return (end, try folder.read("output"), Files.text(folder.path("errors")))
}
