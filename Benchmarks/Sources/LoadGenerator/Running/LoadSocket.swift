internal import CLoad
internal import Glibc

/// A connection to the server under load. Only this type makes system calls on sockets.
struct LoadSocket: ~Copyable {
    /// The descriptor, for an epoll set. Closing the socket removes it from the set.
    let descriptor: Int32

    /// The longest blocking receive, so that the loop regularly checks the clock.
    static let receiveMillisecondsMax: Int64 = 50

    static func connect(to path: String) throws(LoadFailure) -> LoadSocket {
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count < Int(CLOAD_PATH_MAX), !bytes.contains(0) else {
            throw LoadFailure(
                .options,
                "the socket's path \"\(path)\" is \(bytes.count) bytes long; it must have "
                    + "1…\(Int(CLOAD_PATH_MAX) - 1), bytes without NUL")
        }
        let descriptor = cload_unix_socket()
        guard descriptor >= 0 else { throw LoadFailure(systemCall: "socket") }
        let socket = LoadSocket(adopting: descriptor)
        var result: Int32
        repeat {
            // connect reads the path during the call and keeps no pointer to it.
            result = bytes.withUnsafeBytes {
                cload_connect(descriptor, $0.baseAddress, $0.count)
            }
        } while result != 0 && errno == EINTR
        guard result == 0 else {
            throw LoadFailure(.noServer, "\(path): \(String(cString: strerror(errno)))")
        }
        _ = cload_receive_timeout(descriptor, receiveMillisecondsMax)
        return socket
    }

    init(adopting descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// The process at the other end, if the kernel knows (`SO_PEERCRED`): the one that called `listen`.
    var peerProcess: Int32? {
        let process = cload_peer_process(descriptor)
        return process > 0 ? process : nil
    }

    /// Sends as much as possible of bytes, a body and a trailer. Returns how many bytes were sent, 0 if the socket is
    /// full. Any of them may be empty.
    borrowing func send(
        _ bytes: RawSpan, body: RawSpan, trailer: RawSpan
    ) throws(LoadFailure) -> Int {
        let descriptor = descriptor
        // The spans keep their memory alive during the calls, which copy from it.
        let count = bytes.withUnsafeBytes { bytes in
            if body.byteCount == 0 {
                return cload_send(descriptor, bytes.baseAddress, bytes.count)
            }
            return body.withUnsafeBytes { body in
                trailer.withUnsafeBytes { trailer in
                    withUnsafeTemporaryAllocation(of: cload_piece.self, capacity: 3) { pieces in
                        pieces.initializeElement(
                            at: 0, to: cload_piece(bytes: bytes.baseAddress, count: bytes.count))
                        pieces.initializeElement(
                            at: 1, to: cload_piece(bytes: body.baseAddress, count: body.count))
                        pieces.initializeElement(
                            at: 2,
                            to: cload_piece(bytes: trailer.baseAddress, count: trailer.count))
                        return cload_send_pieces(descriptor, pieces.baseAddress, 3)
                    }
                }
            }
        }
        if count >= 0 { return count }
        switch errno {
        case EAGAIN, EINTR: return 0
        case EPIPE, ECONNRESET: throw LoadFailure.closed
        default: throw LoadFailure(systemCall: "send")
        }
    }

    /// Receives into `buffer` from `offset` on. Returns how many bytes arrived.
    borrowing func receive(
        into buffer: inout [UInt8], from offset: Int, waiting: Bool
    ) throws(LoadFailure) -> Int {
        let descriptor = descriptor
        // `recv` writes at most as many bytes as there is room, and keeps no pointer.
        let count = buffer.withUnsafeMutableBytes { whole in
            let room = UnsafeMutableRawBufferPointer(rebasing: whole[offset...])
            return waiting
                ? recv(descriptor, room.baseAddress, room.count, 0)
                : cload_receive(descriptor, room.baseAddress, room.count)
        }
        if count > 0 { return count }
        if count == 0 { throw LoadFailure.closed }
        switch errno {
        case EAGAIN, EINTR: return 0
        case ECONNRESET: throw LoadFailure.closed
        default: throw LoadFailure(systemCall: "recv")
        }
    }
}

extension LoadFailure {
    static let closed = LoadFailure(.server, "the server closed the connection")

    init(systemCall call: String) {
        // Copied at once: `strerror` may reuse its buffer.
        self.init(.system, "\(call): \(String(cString: strerror(errno)))")
    }
}

/// An epoll set of the generator's connections, level-triggered.
struct EventSet: ~Copyable {
    private let descriptor: Int32
    private let events: UnsafeMutableRawPointer

    static let eventCountMax = 256

    init() throws(LoadFailure) {
        events = .allocate(
            byteCount: cload_epoll_event_size() * Self.eventCountMax, alignment: 16)
        descriptor = cload_epoll_create()
        guard descriptor >= 0 else { throw LoadFailure(systemCall: "epoll_create1") }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        events.deallocate()
    }

    /// Adds a socket to wait for input. Its events carry `index`.
    borrowing func add(_ socket: Int32, index: Int) throws(LoadFailure) {
        guard cload_epoll_add(descriptor, socket, UInt64(index)) == 0 else {
            throw LoadFailure(systemCall: "epoll_ctl")
        }
    }

    borrowing func change(_ socket: Int32, index: Int, awaitsRoom: Bool) {
        _ = cload_epoll_modify(descriptor, socket, awaitsRoom ? 1 : 0, UInt64(index))
    }

    /// Waits for at most this long. Returns the number of events; 0 after a signal.
    borrowing func wait(nanoseconds: Int64) throws(LoadFailure) -> Int {
        // The kernel writes at most `eventCountMax` events.
        let count = cload_epoll_wait(
            descriptor, events, Int32(Self.eventCountMax), max(0, nanoseconds))
        if count >= 0 { return Int(count) }
        guard errno == EINTR else { throw LoadFailure(systemCall: "epoll_wait") }
        return 0
    }

    borrowing func index(_ number: Int) -> Int {
        precondition(number >= 0 && number < Self.eventCountMax)
        return Int(truncatingIfNeeded: cload_epoll_token(events, Int32(number)))
    }
}
