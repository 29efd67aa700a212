import Glibc

/// A library that is loaded before a daemon's others (`LD_PRELOAD`) and moves the time of day that it is told,
/// by as many seconds as a file says, with the boot clock. The monotonic clock goes on as it is.
public struct MovedClock: Sendable {
    private let library: String
    private let file: String

    /// Compiles the library into `folder`.
    public init(folder: String) throws {
        library = "\(folder)/clock.so"
        file = "\(folder)/clock"
        let source = "\(Files.package)/Tests/Support/moved-clock.c"
        let (end, _, errors) = try run([
            "cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", library, source,
        ])
        try require(end == .exited(0), "cc did not compile the clock: \(errors)")
        try set(seconds: 0)
    }

    /// The environment of a program whose time of day is moved.
    public var variables: [String: String] { ["LD_PRELOAD": library, "MOVED_CLOCK": file] }

    /// The command in front of such a program.
    public var prefix: [String] { ["env"] + variables.map { "\($0)=\($1)" } }

    /// Moves the clock of all that run with ``variables``.
    public func set(seconds: Int64) throws {
        let bytes = withUnsafeBytes(of: seconds) { Array($0) }
        let descriptor = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw TestFailure(file, errno) }
        defer { close(descriptor) }
        // In place: it is mapped.
        guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else {
            throw TestFailure(file, errno)
        }
    }
}
