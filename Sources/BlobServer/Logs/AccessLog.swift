import BlobProtocol
import BlobStore
import Bytes
import Glibc
import Logging
import Synchronization

/// The access log. Workers hand lines to a thread, which writes them, so that a slow disk or a full pipe delays no
/// answer.
package final class AccessLog: Sendable {
    /// The most bytes of lines that may wait to be written; further lines are dropped and counted.
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
    /// Written only by the thread, except at the start.
    private let descriptor: Atomic<Int32>

    /// Lines that were dropped or could not be written.
    var droppedCount: Int { dropped.load(ordering: .relaxed) }

    /// Opens the file for appending; `-` is standard output.
    init(path: String, format: AccessLogFormat, log: Logger) throws {
        self.path = path
        self.format = format
        self.log = log
        thread = try ServiceThread()
        descriptor = Atomic(try Self.open(path))
    }

    /// Does not wait for the reader of a FIFO.
    private static func open(_ path: String) throws(StartFailure) -> Int32 {
        guard path != "-" else { return STDOUT_FILENO }
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
        let number = Glibc.open(path, flags, 0o640)
        guard number < 0 else { return number }
        let why =
            errno == ENXIO ? "it is a FIFO without a reader, or a socket" : SystemError.text(errno)
        throw StartFailure(description: "--access-log \(path): \(why)")
    }

    func start() throws(SystemError) {
        try thread.start("blobd-accesslog") { [self] in run() }
    }

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

    /// Call it after the file was renamed. If it cannot be opened again, lines are appended to the old one.
    func reopen() {
        state.withLock { $0.opensAgain = true }
        thread.wake()
    }

    func close() { thread.close() }

    private func run() {
        var errors = RateLimitedLog(log)
        while true {
            // Read first, so that all lines handed over before the end are written.
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
        let number: Int32
        do throws(StartFailure) {
            number = try Self.open(path)
        } catch {
            return errors.note(
                .error, "Cannot reopen the access log, appending to the old file: \(error)")
        }
        let old = descriptor.exchange(number, ordering: .relaxed)
        Glibc.close(old)
    }

    private func write(_ lines: [UInt8], _ errors: inout RateLimitedLog) {
        let number = descriptor.load(ordering: .relaxed)
        let isFile = Self.isFile(number)
        var rest = lines[...]
        while !rest.isEmpty {
            // A pipe with room takes this many bytes without blocking, even if others write to it.
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

extension AnsweredRequest {
    /// Appends the line with its end. `byteCount` is the size of the answer, including its head.
    func append(
        _ format: AccessLogFormat, _ request: LoggedRequest, byteCount: Int, to out: inout [UInt8]
    ) {
        switch format {
        case .json: appendJSON(request, byteCount, to: &out)
        case .combined: appendCombined(request, byteCount, to: &out)
        }
        out.append("\n")
    }

    private func appendJSON(_ request: LoggedRequest, _ byteCount: Int, to out: inout [UInt8]) {
        out.object {
            $0.add("time", moment: at.milliseconds)
            $0.add("socket", request.isDevice ? "device" : "main")
            $0.add("uid", Int(request.userID))
            $0.add("protocol", request.version.description)
            $0.add("operation", operation.rawValue)
            $0.add("method", request.method.description)
            $0.add("target", request.target)
            $0.add("status", Int(status))
            $0.add("code", code?.rawValue)
            $0.add("bytes", byteCount)
            $0.begin("duration_ms")
            Milliseconds.append(nanoseconds, to: &$0)
            let agent = request.userAgent
            if !agent.isEmpty { $0.add("user_agent", agent) }
        }
    }

    /// `unix: - UID [time] "GET /path HTTP/1.1" status bytes "-" "agent"`, like nginx.
    private func appendCombined(
        _ request: LoggedRequest, _ byteCount: Int, to out: inout [UInt8]
    ) {
        out.append(text: "unix: - \(request.userID) [")
        appendTime(to: &out)
        var agent = Self.quoted(request.userAgent)
        if agent.isEmpty { agent = "-" }
        out.append(
            text: "] \"\(request.method) \(Self.quoted(request.target)) \(request.version)\" "
                + "\(status) \(byteCount) \"-\" \"\(agent)\"")
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private func appendTime(to out: inout [UInt8]) {
        let seconds = max(0, at.milliseconds / 1_000)
        let date = CivilDate(dayNumber: Int(seconds / 86_400))
        Decimal.append(UInt64(date.day), digits: 2, to: &out)
        out.append(text: "/\(Self.months[date.month - 1])/")
        Decimal.append(UInt64(date.year), digits: 4, to: &out)
        for part in [seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60] {
            out.append(":")
            Decimal.append(UInt64(part), digits: 2, to: &out)
        }
        out.append(" +0000")
    }

    /// With quotation marks and backslashes escaped like in nginx.
    private static func quoted(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "\"")) || text.utf8.contains(UInt8(ascii: "\\"))
        else { return text }
        return text.utf8.reduce(into: "") { quoted, byte in
            switch byte {
            case UInt8(ascii: "\""): quoted += "\\x22"
            case UInt8(ascii: "\\"): quoted += "\\x5C"
            default: quoted.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
    }
}

/// Milliseconds with three decimals.
enum Milliseconds {
    static func append(_ nanoseconds: Int64, to out: inout [UInt8]) {
        let microseconds = UInt64(max(0, nanoseconds)) / 1_000
        Decimal.append(microseconds / 1_000, to: &out)
        out.append(UInt8(ascii: "."))
        Decimal.append(microseconds % 1_000, digits: 3, to: &out)
    }

    static func text(_ nanoseconds: Int64) -> String {
        var text: [UInt8] = []
        append(nanoseconds, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
