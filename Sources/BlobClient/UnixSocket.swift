// Only this file of the module makes system calls on sockets.

import CLinux
import Dispatch
import Glibc
import Synchronization

/// A connected stream socket of the Unix domain, closed when its owner is destroyed.
///
/// The socket blocks. `SO_RCVTIMEO` and `SO_SNDTIMEO` limit each wait. A peer that is gone is an error, never a SIGPIPE
/// (`MSG_NOSIGNAL`).
struct UnixSocket: ~Copyable, Sendable {
    /// The longest path that fits into `sun_path` with a final zero, in bytes.
    static let pathByteCountMax = 107

    private let descriptor: CInt
    private var timeoutMilliseconds: Int
    private let stop: SocketStop?

    static func connect(
        to path: String, timeoutMilliseconds: Int, stop: SocketStop? = nil
    ) throws(ClientError) -> UnixSocket {
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count <= pathByteCountMax, !bytes.contains(0) else {
            throw ClientError.badSocketPath(path, byteCountMax: pathByteCountMax)
        }
        let descriptor = clinux_unix_socket()
        guard descriptor >= 0 else { throw ClientError.noDaemon(path: path, errno: errno) }
        let connected = UnixSocket(
            adopting: descriptor, timeoutMilliseconds: timeoutMilliseconds, stop: stop)
        var result: CInt
        repeat {
            // The path is read during the call.
            result = bytes.withUnsafeBytes { clinux_connect(descriptor, $0.baseAddress, $0.count) }
        } while result != 0 && errno == EINTR
        guard result == 0 else {
            let code = errno
            // The listener has accepted nothing for so long that its queue is full.
            guard code != EAGAIN else {
                throw ClientError.timeout(milliseconds: timeoutMilliseconds)
            }
            throw ClientError.noDaemon(path: path, errno: code)
        }
        return connected
    }

    init(adopting descriptor: CInt, timeoutMilliseconds: Int, stop: SocketStop? = nil) {
        self.descriptor = descriptor
        self.timeoutMilliseconds = 0
        self.stop = stop
        setTimeout(milliseconds: timeoutMilliseconds)
        stop?.attach(descriptor)
    }

    mutating func setTimeout(milliseconds: Int) {
        timeoutMilliseconds = max(milliseconds, 0)
        var time = timeval()
        time.tv_sec = timeoutMilliseconds / 1_000
        time.tv_usec = (timeoutMilliseconds % 1_000) * 1_000
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)
    }

    deinit {
        // First, so that no other descriptor with the same number is shut down.
        stop?.detach()
        close(descriptor)
    }

    /// Sends some of `bytes` without waiting. Returns how many were accepted, 0 if the queue is full, or nil if the
    /// peer is gone (what it sent can still be received).
    func sendWithoutWaiting(_ bytes: RawSpan) throws(ClientError) -> Int? {
        while true {
            // The span keeps its memory alive during the call, and `send` copies from it.
            let count = bytes.withUnsafeBytes { clinux_send(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN: return 0
            case EPIPE, ECONNRESET, ENOTCONN: return nil
            default: throw ClientError.io("send", errno: errno)
            }
        }
    }

    /// Waits until bytes can be sent or, if `receiving`, received. Returns whether they can be received.
    func wait(receiving: Bool) throws(ClientError) -> Bool {
        let events = CShort(POLLOUT) | (receiving ? CShort(POLLIN) : 0)
        var entry = pollfd(fd: descriptor, events: events, revents: 0)
        let timeout = timeoutMilliseconds == 0 ? -1 : CInt(clamping: timeoutMilliseconds)
        while true {
            let count = poll(&entry, 1, timeout)
            if count > 0 { break }
            if count == 0 { throw ClientError.timeout(milliseconds: timeoutMilliseconds) }
            guard errno == EINTR else { throw ClientError.io("poll", errno: errno) }
        }
        return receiving && entry.revents & CShort(POLLIN) != 0
    }

    /// Receives at least one byte into `buffer` from position `start` on. Returns 0 if the peer has closed.
    func receive(into buffer: inout [UInt8], from start: Int) throws(ClientError) -> Int {
        while true {
            // `recv` writes at most the bytes from `start` on, and keeps no pointer.
            let count = buffer.withUnsafeMutableBytes { whole in
                let room = UnsafeMutableRawBufferPointer(rebasing: whole[start...])
                return recv(descriptor, room.baseAddress, room.count, 0)
            }
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN: throw ClientError.timeout(milliseconds: timeoutMilliseconds)
            case ECONNRESET: return 0
            default: throw ClientError.io("recv", errno: errno)
            }
        }
    }

    /// Whether the peer has closed its end, or sent something unrequested. Does not wait.
    func isFinished() -> Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT))
        return count >= 0 || (errno != EAGAIN && errno != EINTR)
    }
}

struct InputBuffer: Sendable {
    /// The size until payloads arrive, in bytes: some programs have hundreds of connections.
    private static let firstByteCount = 16_384
    /// The most that is received at once, in bytes: large enough that a big payload takes few system calls.
    static let pieceByteCount = 262_144
    /// How far the buffer may grow when answers arrive while a request is being sent, in bytes.
    private static let byteCountMax = 8 << 20

    private var bytes = [UInt8](repeating: 0, count: InputBuffer.firstByteCount)
    private var start = 0
    private var end = 0

    private(set) var isAtEnd = false

    var count: Int { end - start }

    var isFull: Bool { count >= Self.byteCountMax }

    func withUnread<R>(_ body: (RawSpan) throws(ClientError) -> R) throws(ClientError) -> R {
        try body(bytes.span.bytes.extracting(start..<end))
    }

    mutating func consume(_ count: Int) {
        start += count
        if start == end { (start, end) = (0, 0) }
    }

    mutating func fill(from socket: borrowing UnixSocket) throws(ClientError) {
        if end == bytes.count {
            if start > 0 {
                bytes.replaceSubrange(0..<(end - start), with: bytes[start..<end])
                (start, end) = (0, end - start)
            } else {
                grow(to: 2 * bytes.count)
            }
        }
        let received = try socket.receive(into: &bytes, from: end)
        if received == 0 { isAtEnd = true }
        end += received
        if end == bytes.count { grow(to: Self.pieceByteCount) }
    }

    private mutating func grow(to byteCount: Int) {
        guard byteCount > bytes.count else { return }
        bytes.append(contentsOf: repeatElement(0, count: byteCount - bytes.count))
    }
}

/// Permanently ends the waits on a socket from another thread.
package final class SocketStop: Sendable {
    private struct State {
        var isStopped = false
        var descriptor: CInt?
    }

    private let state = Mutex(State())
    private let stopped = DispatchSemaphore(value: 0)

    package init() {}

    package var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Shuts the socket down, as if the peer were gone, and any socket that is attached later.
    package func stop() {
        state.withLock { state in
            state.isStopped = true
            if let descriptor = state.descriptor { shutdown(descriptor, CInt(SHUT_RDWR)) }
        }
        stopped.signal()
    }

    func wait(milliseconds: Int) {
        guard stopped.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else {
            return
        }
        stopped.signal()
    }

    fileprivate func attach(_ descriptor: CInt) {
        state.withLock { state in
            state.descriptor = descriptor
            if state.isStopped { shutdown(descriptor, CInt(SHUT_RDWR)) }
        }
    }

    fileprivate func detach() {
        state.withLock { $0.descriptor = nil }
    }
}

func describe(errno code: CInt) -> String {
    // Copied at once: `strerror` may reuse its buffer.
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
}
