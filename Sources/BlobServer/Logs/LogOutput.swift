import CLinux
import Glibc
import Synchronization

/// Where the log goes. It never waits for a reader: a worker that logs would stop answering. A message for which there is
/// no room is dropped and counted, and the next one for which there is follows a note that says how many were.
final class LogOutput: Sendable {
    enum Transfer {
        case sent
        /// The reader is too slow.
        case full
        case failed
    }

    protocol Target: Sendable {
        /// Sends a whole message, or drops it. Never waits.
        mutating func send(_ message: [UInt8]) -> Transfer
    }

    private struct State {
        var target: any Target
        /// Messages dropped since the last note.
        var droppedCount = 0
    }

    static let standardError = LogOutput(StandardErrorTarget())
    private static let dropped = Atomic<Int>(0)

    /// Messages that this process has dropped.
    static var droppedCount: Int { dropped.load(ordering: .relaxed) }

    private let state: Mutex<State>

    init(_ target: any Target) { state = Mutex(State(target: target)) }

    /// Sends a message, after a note if some were dropped. If it fails, `fallback` is tried; nil: the message is dropped.
    func write(
        _ message: [UInt8], note: (Int) -> [UInt8], orElse fallback: (() -> Void)? = nil
    ) {
        let transfer = state.withLock { state in
            var transfer = Transfer.sent
            if state.droppedCount > 0 {
                transfer = state.target.send(note(state.droppedCount))
                if transfer == .sent { state.droppedCount = 0 }
            }
            if transfer == .sent { transfer = state.target.send(message) }
            guard transfer == .full || (transfer == .failed && fallback == nil) else {
                return transfer
            }
            state.droppedCount += 1
            Self.dropped.add(1, ordering: .relaxed)
            return transfer
        }
        if transfer == .failed { fallback?() }
    }
}

/// Standard error, which gets whole lines.
private struct StandardErrorTarget: LogOutput.Target {
    private enum Kind {
        /// It has room.
        case file
        case socket
        /// A pipe or a terminal, opened a second time.
        case reopened(Int32)
        /// One that cannot be opened again: it belongs to another user.
        case shared
    }

    private let kind: Kind
    /// Whether the last line was cut off.
    private var isCut = false

    init() {
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0 else {
            kind = .file
            return
        }
        switch status.st_mode & S_IFMT {
        case S_IFSOCK: kind = .socket
        case S_IFIFO, S_IFCHR:
            let number = clinux_open_to_write(STDERR_FILENO)
            kind = number >= 0 ? .reopened(number) : .shared
        default: kind = .file
        }
    }

    mutating func send(_ line: [UInt8]) -> LogOutput.Transfer {
        let bytes = isCut ? [UInt8(ascii: "\n")] + line : line
        var rest = bytes[...]
        var transfer = LogOutput.Transfer.sent
        while transfer == .sent, !rest.isEmpty {
            let count = rest.withUnsafeBytes(write)
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                transfer = errno == EAGAIN ? .full : .failed
            }
        }
        if let last = bytes.dropLast(rest.count).last { isCut = last != UInt8(ascii: "\n") }
        return transfer
    }

    /// Writes what there is room for; negative: an error, EAGAIN if there is no room.
    private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch kind {
        case .file: return Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
        case .socket: return clinux_send(STDERR_FILENO, bytes.baseAddress, bytes.count)
        case .reopened(let number): return Glibc.write(number, bytes.baseAddress, bytes.count)
        case .shared:
            var request = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
            guard poll(&request, 1, 0) > 0 else {
                errno = EAGAIN
                return -1
            }
            // A pipe with room takes this many bytes without blocking.
            return Glibc.write(
                STDERR_FILENO, bytes.baseAddress, min(bytes.count, Int(PIPE_BUF)))
        }
    }
}

/// The journal's socket. One descriptor for all messages, which are addressed each: the journal may be restarted.
struct JournalTarget: LogOutput.Target {
    private let address: [UInt8]
    private let descriptor: Int32

    init(path: String) {
        address = Array(path.utf8)
        descriptor = address.count < Int(CLINUX_PATH_MAX) ? clinux_datagram_socket() : -1
    }

    mutating func send(_ message: [UInt8]) -> LogOutput.Transfer {
        guard descriptor >= 0 else { return .failed }
        let code = clinux_send_datagram(
            descriptor, address, address.count, message, message.count, 0)
        guard code != 0 else { return .sent }
        return errno == EAGAIN || errno == ENOBUFS ? .full : .failed
    }
}
