import BlobStore
import CLinux
import Glibc

// The only file that calls the kernel for sockets. All are AF_UNIX stream sockets (unix(7)).

/// One end of a connection. Never blocks; destroying the value closes it.
struct Socket: ~Copyable, Sendable {
    /// The size of a socket's send buffer once payloads are linked into it, or one call sends more than fits into the
    /// usual 208 KiB. The kernel doubles it, and limits it to twice `net.core.wmem_max`.
    static let widenedByteCount: Int32 = 512 << 10

    private let descriptor: OwnedDescriptor

    init(_ descriptor: consuming OwnedDescriptor) {
        self.descriptor = descriptor
    }

    var number: Int32 { descriptor.number }

    /// Gives up the descriptor, for another owner.
    consuming func release() -> Int32 { descriptor.release() }

    enum Transfer {
        /// This many bytes were moved, at least one.
        case moved(Int)
        /// Nothing can be moved now; the poller reports when that changes.
        case blocked
        /// The peer sends no more (reads), or accepts no more (writes: EPIPE, ECONNRESET).
        case ended
    }

    /// Reads into `buffer` (`recv`), which must not be empty. If it is not filled, the socket is empty.
    borrowing func read(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        while true {
            let count = clinux_receive(
                descriptor.number, buffer.baseAddress, buffer.count)
            if count > 0 { return .moved(count) }
            if count == 0 { return .ended }
            if errno == EINTR { continue }
            return errno == EAGAIN ? .blocked : .ended
        }
    }

    /// Sends several pieces with one call (`sendmsg`). No piece may be empty.
    borrowing func send(_ pieces: UnsafeBufferPointer<clinux_piece>) -> Transfer {
        Self.outcome { clinux_send_pieces(descriptor.number, pieces.baseAddress, pieces.count) }
    }

    /// Sends at least one byte (`send`).
    borrowing func send(_ bytes: RawSpan) -> Transfer {
        bytes.withUnsafeBytes { send($0) }
    }

    /// Sends bytes that the caller keeps in place during the call.
    borrowing func send(_ bytes: UnsafeRawBufferPointer) -> Transfer {
        Self.outcome { clinux_send(descriptor.number, bytes.baseAddress, bytes.count) }
    }

    /// Sends bytes of a file (`sendfile`). The kernel hands its own pages to the peer, so they must not change until
    /// ``unreadByPeer`` shows that they have been read.
    borrowing func send(from file: Int32, at offset: Int, byteCount: Int) -> Transfer {
        Self.outcome { clinux_send_file(descriptor.number, file, Int64(offset), byteCount) }
    }

    borrowing func widen(to byteCount: Int32) {
        clinux_set_send_buffer(descriptor.number, byteCount)
    }

    @inline(__always)
    private static func outcome(_ call: () -> Int) -> Transfer {
        while true {
            let count = call()
            if count >= 0 { return count == 0 ? .blocked : .moved(count) }
            if errno == EINTR { continue }
            return errno == EAGAIN ? .blocked : .ended
        }
    }

    /// Tells the peer that no more will be sent (`shutdown` with `SHUT_WR`); reading continues.
    borrowing func endSending() {
        _ = clinux_shutdown_sending(descriptor.number)
    }

    /// Shuts down both directions (`shutdown` with `SHUT_RDWR`). The peer can still read what was sent.
    borrowing func end() {
        _ = clinux_shutdown(descriptor.number)
    }

    /// How many sent bytes the peer has not read (`SIOCOUTQ`). Falls in steps of a kernel buffer of about 36 KiB.
    var unreadByPeer: Int {
        let count = Int(clinux_unread_by_peer(descriptor.number))
        // If the kernel does not say, everything ever sent counts as unread.
        return count >= 0 ? count : 1 << 60
    }

    /// The user that connected at the other end (`SO_PEERCRED`).
    var peerUserID: UInt32? {
        var id: UInt32 = 0
        return clinux_peer_uid(descriptor.number, &id) == 0 ? id : nil
    }
}

struct ListeningSocket: ~Copyable, Sendable {
    private let descriptor: OwnedDescriptor

    /// The longest path of a socket, in bytes: `sun_path` less its final zero.
    static let pathByteCountMax = Int(CLINUX_PATH_MAX) - 1

    /// How many connections may wait to be accepted; the kernel limits it to `net.core.somaxconn`.
    static let backlogMax: Int32 = 4_096

    /// Binds to a path that must not exist, and listens. `fchmod` comes before `bind`, since the file takes over the
    /// socket's mode. The group can only be set on the file; nobody can connect before `listen`.
    init(path: String, mode: UInt32, group: UInt32?) throws(SystemError) {
        let descriptor = try OwnedDescriptor(taking: clinux_unix_socket(), from: "socket")
        guard fchmod(descriptor.number, mode) == 0 else { throw SystemError("fchmod") }
        // The umask would remove requested bits.
        let mask = umask(0)
        defer { umask(mask) }
        guard Self.withPath(path, { clinux_bind(descriptor.number, $0, $1) }) == 0 else {
            throw SystemError("bind")
        }
        if let group {
            guard chown(path, UInt32.max, group) == 0 else { throw SystemError("chown") }
        }
        guard clinux_set_nonblocking(descriptor.number) == 0 else { throw SystemError("fcntl") }
        guard listen(descriptor.number, Self.backlogMax) == 0 else { throw SystemError("listen") }
        self.descriptor = descriptor
    }

    /// Takes over a listening socket. Throws EINVAL if it is not a listening Unix stream socket.
    init(listening descriptor: consuming OwnedDescriptor) throws(SystemError) {
        guard clinux_is_listening(descriptor.number) == 1 else {
            errno = EINVAL
            throw SystemError("listen")
        }
        guard clinux_set_nonblocking(descriptor.number) == 0,
            clinux_close_at_exec(descriptor.number) == 0
        else { throw SystemError("fcntl") }
        self.descriptor = descriptor
    }

    /// The path that it is bound to; empty if there is none.
    var path: String {
        var bytes = [UInt8](repeating: 0, count: Int(CLINUX_PATH_MAX))
        let count = clinux_socket_path(descriptor.number, &bytes)
        return String(decoding: bytes.prefix(Int(max(0, count))), as: UTF8.self)
    }

    var number: Int32 { descriptor.number }

    enum Accepted: ~Copyable {
        case connection(Socket)
        /// No connection is waiting.
        case none
        /// The process or the machine is out of descriptors or memory: try again later.
        case exhausted(SystemError)
    }

    /// Accepts one connection (`accept4`), as a non-blocking socket.
    static func accept(from number: Int32) -> Accepted {
        while true {
            do {
                return .connection(
                    Socket(
                        try OwnedDescriptor(
                            taking: clinux_accept(number), from: "accept4")))
            } catch {
                switch error.code {
                case EINTR, ECONNABORTED: continue
                case EAGAIN: return .none
                default: return .exhausted(error)
                }
            }
        }
    }

    enum Probe {
        /// A process listens.
        case alive
        /// A socket file without a listener (ECONNREFUSED).
        case refused
        /// The path does not exist.
        case absent
        case failed(SystemError)
    }

    /// Connects to `path` and closes the connection at once.
    static func probe(_ path: String) -> Probe {
        do {
            let descriptor = try OwnedDescriptor(taking: clinux_unix_socket(), from: "socket")
            // If the backlog is full, the result is EAGAIN, which means that a process listens.
            _ = clinux_set_nonblocking(descriptor.number)
            guard withPath(path, { clinux_connect(descriptor.number, $0, $1) }) != 0 else {
                return .alive
            }
            switch errno {
            case ECONNREFUSED: return .refused
            case ENOENT: return .absent
            case EAGAIN, EINPROGRESS, EINTR: return .alive
            default: return .failed(SystemError("connect"))
            }
        } catch {
            return .failed(error)
        }
    }

    private static func withPath(
        _ path: String, _ body: (UnsafeRawPointer, Int) -> Int32
    ) -> Int32 {
        var path = path
        return path.withUTF8 { bytes in
            guard let start = bytes.baseAddress, bytes.count <= pathByteCountMax else {
                errno = ENAMETOOLONG
                return -1
            }
            return body(start, bytes.count)
        }
    }
}
