import Glibc
import Logging
import Synchronization

/// The access log: a line for each request that was answered. Workers hand lines over; a thread of its
/// own writes them, so that a slow disk or a full pipe holds up no answer. Lines that would wait in more
/// than ``AccessLog/waitingByteCountMax`` are dropped and counted.
package final class AccessLog: Sendable {
    /// Lines that wait for the disk, in bytes; further ones are dropped and counted.
    private static let waitingByteCountMax = 8 << 20

    private struct State {
        var waiting: [UInt8] = []
        var opensAgain = false
    }

    let format: AccessLogFormat
    private let path: String
    private let log: Logger
    private let state = Mutex(State())
    private let thread: ServiceThread
    private let dropped = Atomic<Int>(0)
    /// Written by the thread alone, but for the start.
    private let descriptor: Atomic<Int32>

    /// Lines that were dropped, or could not be written.
    var droppedCount: Int { dropped.load(ordering: .relaxed) }

    /// Opens the file, appending to what is there; `-` is standard output.
    init(path: String, format: AccessLogFormat, log: Logger) throws(SystemError) {
        self.path = path
        self.format = format
        self.log = log
        thread = try ServiceThread()
        let number = Self.open(path)
        guard number >= 0 else { throw SystemError("open --access-log") }
        descriptor = Atomic(number)
    }

    private static func open(_ path: String) -> Int32 {
        guard path != "-" else { return STDOUT_FILENO }
        return Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0o640)
    }

    /// Starts the thread.
    func start() throws(SystemError) {
        try thread.start("blobd-accesslog") { [self] in run() }
    }

    /// Takes lines.
    func take(_ lines: [UInt8], count: Int) {
        let isTaken = state.withLock { state in
            guard state.waiting.count + lines.count <= Self.waitingByteCountMax else {
                return false
            }
            state.waiting += lines
            return true
        }
        if isTaken { thread.wake() } else { dropped.add(count, ordering: .relaxed) }
    }

    /// Opens the file again before the next line: it was renamed. If that fails, lines are appended to the old one.
    func reopen() {
        state.withLock { $0.opensAgain = true }
        thread.wake()
    }

    /// Writes what waits, and ends the thread.
    func close() { thread.close() }

    // MARK: - The thread

    private func run() {
        var errors = RateLimitedLog(log)
        while true {
            // Read first: what was taken before the end is written.
            let isClosing = thread.isClosing
            let (lines, opensAgain) = state.withLock { state in
                defer {
                    state.waiting = []
                    state.opensAgain = false
                }
                return (state.waiting, state.opensAgain)
            }
            if opensAgain { replaceFile(&errors) }
            if !lines.isEmpty {
                write(lines, &errors)
            } else if isClosing {
                return
            } else {
                thread.wait(milliseconds: -1)
            }
        }
    }

    private func replaceFile(_ errors: inout RateLimitedLog) {
        guard path != "-" else { return }
        let number = Self.open(path)
        guard number >= 0 else {
            let error = SystemError("open")
            return errors.note(.error, "Cannot open the access log \(path) again: \(error)")
        }
        let old = descriptor.exchange(number, ordering: .relaxed)
        Glibc.close(old)
    }

    private func write(_ lines: [UInt8], _ errors: inout RateLimitedLog) {
        let number = descriptor.load(ordering: .relaxed)
        let isFile = Self.isFile(number)
        var rest = lines[...]
        while !rest.isEmpty {
            // A pipe that has room takes so many bytes without blocking, also where others write to it.
            if !isFile, !waitForRoom(number) { break }
            let count = rest.withUnsafeBytes {
                Glibc.write(
                    number, $0.baseAddress, isFile ? $0.count : min($0.count, Int(PIPE_BUF)))
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR, errno != EAGAIN {
                let error = SystemError("write")
                errors.note(.error, "Cannot write the access log \(path): \(error)")
                break
            }
        }
        let lost = rest.count { $0 == UInt8(ascii: "\n") }
        if lost > 0 { dropped.add(lost, ordering: .relaxed) }
    }

    private static func isFile(_ number: Int32) -> Bool {
        var status = stat()
        return fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Waits until a pipe or a socket has room.
    private func waitForRoom(_ number: Int32) -> Bool {
        while true {
            var request = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
            if poll(&request, 1, 100) != 0 { return true }
            if thread.isClosing { return false }
        }
    }
}
