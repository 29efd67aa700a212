import CLinux
import Glibc

// Sockets are touched here and nowhere else. All of them are AF_UNIX stream sockets (unix(7)).

/// A connection's end: never blocks, and ends with its value.
struct Socket: ~Copyable, Sendable {
    /// What a socket may hold that its peer has not read, once payloads are linked into it, or one call sends more
    /// than the usual 208 KiB takes. The kernel doubles it, and cuts it to twice `net.core.wmem_max`.
    static let widenedByteCount: Int32 = 512 << 10

    private let descriptor: OwnedDescriptor

    init(_ descriptor: consuming OwnedDescriptor) {
        self.descriptor = descriptor
    }

    var number: Int32 { descriptor.number }

    /// Gives the descriptor away, to be taken over elsewhere.
    consuming func release() -> Int32 { descriptor.release() }

    enum Transfer {
        /// So many bytes went through, at least one.
        case moved(Int)
        /// Nothing can be moved now; the poller says when.
        case blocked
        /// The peer sends no more (reads), or takes no more (writes: EPIPE, ECONNRESET).
        case ended
    }

    /// Reads into `buffer` (`recv`), which must not be empty. Fewer bytes than it has room for are all there are.
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

    /// Sends several pieces with one call (`sendmsg`). None of them may be empty.
    borrowing func send(_ pieces: UnsafeBufferPointer<clinux_piece>) -> Transfer {
        Self.outcome { clinux_send_pieces(descriptor.number, pieces.baseAddress, pieces.count) }
    }

    /// Sends bytes (`send`), of which there must be at least one.
    borrowing func send(_ bytes: RawSpan) -> Transfer {
        bytes.withUnsafeBytes { send($0) }
    }

    /// Sends bytes that something else keeps in place during the call.
    borrowing func send(_ bytes: UnsafeRawBufferPointer) -> Transfer {
        Self.outcome { clinux_send(descriptor.number, bytes.baseAddress, bytes.count) }
    }

    /// Sends bytes of a file (`sendfile`). The kernel hands its own pages to the peer, so they must not change before
    /// ``unreadByPeer`` says that they have been read.
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

    /// Ends both directions (`shutdown` with `SHUT_RDWR`). The peer can still read what was sent.
    borrowing func end() {
        _ = clinux_shutdown(descriptor.number)
    }

    /// How many sent bytes the peer has not read (`SIOCOUTQ`): it falls in steps of a kernel buffer of about 36 KiB.
    var unreadByPeer: Int {
        let count = Int(clinux_unread_by_peer(descriptor.number))
        // Where the kernel does not say, everything that was ever sent counts as unread.
        return count >= 0 ? count : 1 << 60
    }

    /// The user at the other end when it connected (`SO_PEERCRED`).
    var peerUserID: UInt32? {
        var id: UInt32 = 0
        return clinux_peer_uid(descriptor.number, &id) == 0 ? id : nil
    }
}

struct ListeningSocket: ~Copyable, Sendable {
    private let descriptor: OwnedDescriptor

    /// The longest path a socket can have, in bytes: `sun_path` less its final zero.
    static let pathByteCountMax = Int(CLINUX_PATH_MAX) - 1

    /// How many connections may wait to be accepted; the kernel lowers it to `net.core.somaxconn`.
    static let backlogMax: Int32 = 4_096

    /// Binds to a path that must not exist, and listens. `fchmod` comes before `bind`: the file takes the socket's
    /// mode. The group can only be given to the file; nobody can connect before `listen`.
    init(path: String, mode: UInt32, group: UInt32?) throws(SystemError) {
        let descriptor = try OwnedDescriptor(taking: clinux_unix_socket(), from: "socket")
        guard fchmod(descriptor.number, mode) == 0 else { throw SystemError("fchmod") }
        // The umask would take bits away that were asked for.
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

    /// Takes over a socket that listens already. Throws EINVAL where it is no Unix stream socket that listens.
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

    /// The path that it is bound to; empty when it has none.
    var path: String {
        var bytes = [UInt8](repeating: 0, count: Int(CLINUX_PATH_MAX))
        let count = clinux_socket_path(descriptor.number, &bytes)
        return String(decoding: bytes.prefix(Int(max(0, count))), as: UTF8.self)
    }

    var number: Int32 { descriptor.number }

    enum Accepted: ~Copyable {
        case connection(Socket)
        /// Nobody is waiting.
        case none
        /// The process or the machine is out of descriptors or memory: try again later.
        case exhausted(SystemError)
    }

    /// Takes one waiting connection of a socket that listens (`accept4`), as a socket that does not block.
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
        /// Somebody listens there.
        case alive
        /// A socket file nobody listens at (ECONNREFUSED).
        case refused
        /// There is nothing at the path.
        case absent
        case failed(SystemError)
    }

    /// Connects to `path` and hangs up at once.
    static func probe(_ path: String) -> Probe {
        do {
            let descriptor = try OwnedDescriptor(taking: clinux_unix_socket(), from: "socket")
            // A full backlog answers EAGAIN, and somebody is there then.
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
