package import BlobStore
import CLinux
import Glibc

/// A walk over a store in a process of its own. liblmdb believes what pages say, so a damaged page
/// may end the process that reads it by a signal. That is the child, and its position is known here.
package struct StoreWalk {
    /// How far a walk goes.
    package enum Depth: String {
        /// The pages alone, read without liblmdb. Nobody may write to the store meanwhile.
        case pages
        /// All entries, too.
        case entries
        /// The bytes of all blobs, too.
        case bytes
    }

    /// The command that walks, for this alone.
    package static let commandName = "walk-store"

    /// How a walk ended.
    package enum Ending {
        /// To its end: everything it has found is in the report.
        case done
        /// A signal ended it, at a place that is in the report as well.
        case died(signal: Int32)
        /// It could not be done: why.
        case failed(String)
    }

    package var report: VerifyReport
    package var ending: Ending

    /// Walks the store in a folder.
    ///
    /// - Parameter progress: called with how many stored bytes were read, of how many.
    package static func run(
        _ directory: String, _ depth: Depth, progress: (UInt64, UInt64) -> Void = { _, _ in }
    ) throws(SystemError) -> StoreWalk {
        let shared = try OwnedDescriptor(
            taking: clinux_shared_memory(WalkPosition.byteCount), from: "memfd_create")
        let memory = mmap(nil, WalkPosition.byteCount, PROT_READ, MAP_SHARED, shared.number, 0)
        guard let memory, memory != MAP_FAILED else { throw SystemError("mmap") }
        defer { munmap(memory, WalkPosition.byteCount) }
        var ends: (Int32, Int32) = (-1, -1)
        guard clinux_pipe(&ends.0, &ends.1) == 0 else { throw SystemError("pipe2") }
        let input = try OwnedDescriptor(taking: ends.0, from: "pipe2")
        // Closed here at once, so that the input ends with the child.
        let pid = try start(
            directory, depth, try OwnedDescriptor(taking: ends.1, from: "pipe2"), shared.number)
        var lines = WalkLines()
        lines.read(from: input.number, progress: progress)
        let status = wait(for: pid)
        var walk = StoreWalk(report: lines.report, ending: .done)
        // The macros of <sys/wait.h> are not imported: the low seven bits are the signal.
        let signal = status & 0x7F
        if signal != 0 {
            walk.ending = .died(signal: signal)
            walk.report.add(
                "\(signalName(signal)) ended the check at \(WalkPosition(memory).text), or right after it"
            )
        } else if let failure = lines.failure {
            walk.ending = .failed(failure)
        } else if !lines.isEnded {
            walk.ending = .failed("the check ended with exit code \(status >> 8 & 0xFF)")
        }
        return walk
    }

    private static func start(
        _ directory: String, _ depth: Depth, _ output: consuming OwnedDescriptor,
        _ memory: Int32
    ) throws(SystemError) -> pid_t {
        let words = [
            "blobd", Self.commandName, "--data", directory, "--depth", depth.rawValue,
        ]
        var arguments = words.map { strdup($0) }
        arguments.append(nil)
        defer { for text in arguments { free(text) } }
        let pid = clinux_start_self(&arguments, output.number, memory)
        guard pid > 0 else { throw SystemError("posix_spawn") }
        return pid
    }

    private static func wait(for pid: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status
    }
}

/// `SIGBUS`, or `signal 34`.
func signalName(_ number: Int32) -> String {
    let names = [
        SIGBUS: "SIGBUS", SIGSEGV: "SIGSEGV", SIGABRT: "SIGABRT", SIGILL: "SIGILL",
        SIGTRAP: "SIGTRAP", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL", SIGTERM: "SIGTERM",
        SIGINT: "SIGINT", SIGHUP: "SIGHUP",
    ]
    return names[number] ?? "signal \(number)"
}
