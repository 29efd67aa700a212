import Glibc
import Synchronization

/// A line to a server on loopback. On the way there it lets through so many bytes a second, of all connections together,
/// and each piece so much later; on the way back all at once.
public final class SlowLine: Sendable {
    private static let pieceByteCount = 16 << 10

    private final class Shared: Sendable {
        let serverPort: UInt16
        let bytesPerSecond = Atomic(0)
        let lateMilliseconds = Atomic(0)
        /// Until when the line is taken, in nanoseconds.
        let takenUntil = Mutex(0)

        init(_ port: UInt16) { serverPort = port }

        /// Waits until so many bytes may go.
        func pass(_ byteCount: Int) {
            usleep(UInt32(lateMilliseconds.load(ordering: .relaxed) * 1_000))
            let rate = bytesPerSecond.load(ordering: .relaxed)
            guard rate > 0 else { return }
            let now = nanoseconds()
            let begin = takenUntil.withLock { taken in
                let begin = max(taken, now)
                taken = begin + byteCount * 1_000_000_000 / rate
                return begin
            }
            if begin > now { usleep(UInt32((begin - now) / 1_000)) }
        }
    }

    private let listener: Int32
    private let port: UInt16
    private let shared: Shared

    /// One that is as quick as it can be.
    ///
    /// - Parameter port: where the server is, on 127.0.0.1.
    public init(to port: UInt16) throws {
        (listener, self.port) = try listenOnLoopback()
        let listener = listener
        let shared = Shared(port)
        self.shared = shared
        startThread {
            while true {
                let client = accept(listener, nil, nil)
                if client < 0 && errno == EINTR { continue }
                guard client >= 0 else { return }
                _ = fcntl(client, F_SETFD, FD_CLOEXEC)
                Self.join(client, shared)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// The address that daemons have the server by.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// How many bytes a second go to the server from now on, of all connections; 0: any number.
    public func set(bytesPerSecond: Int) {
        shared.bytesPerSecond.store(bytesPerSecond, ordering: .relaxed)
    }

    /// How much later the server gets what is sent to it from now on: a request that is no longer than a piece is late once.
    public func set(lateMilliseconds: Int) {
        shared.lateMilliseconds.store(lateMilliseconds, ordering: .relaxed)
    }

    private static func join(_ client: Int32, _ shared: Shared) {
        guard let server = connectToLoopback(port: shared.serverPort) else {
            close(client)
            return
        }
        // Whoever sends a head and a body by themselves would wait for an acknowledgement between them.
        var isOn: Int32 = 1
        for socket in [client, server] {
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, 4)
        }
        let isEnded = EndCount()
        // The kernel keeps little of what waits.
        var buffer = Int32(pieceByteCount)
        setsockopt(client, SOL_SOCKET, SO_RCVBUF, &buffer, 4)
        for (from, to, isSlow) in [(client, server, true), (server, client, false)] {
            startThread {
                copy(from, to, isSlow ? shared : nil)
                shutdown(to, Int32(SHUT_WR))
                // The second one closes both.
                guard isEnded.value.add(1, ordering: .acquiringAndReleasing).newValue == 2 else {
                    return
                }
                close(client)
                close(server)
            }
        }
    }

    private final class EndCount: Sendable { let value = Atomic(0) }

    private static func copy(_ from: Int32, _ to: Int32, _ shared: Shared?) {
        var piece = [UInt8](repeating: 0, count: pieceByteCount)
        while true {
            let count = read(from, &piece, piece.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return }
            shared?.pass(count)
            var sent = 0
            while sent < count {
                let written = piece.withUnsafeBytes {
                    send(to, $0.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL))
                }
                if written < 0 && errno == EINTR { continue }
                guard written > 0 else { return }
                sent += written
            }
        }
    }
}

private func nanoseconds() -> Int {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * 1_000_000_000 + now.tv_nsec
}
