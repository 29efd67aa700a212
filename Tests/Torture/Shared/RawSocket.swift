import BlobProtocol
import Glibc
import TestSupport

/// The hello that begins every binary connection.
let helloFrame: [UInt8] = {
    var frame: [UInt8] = []
    let byteCount = UInt32(Hello.Request.byteCount)
    RequestFrame(.hello, requestID: 1, headByteCount: byteCount, bodyByteCount: 0)
        .compose(into: &frame)
    Hello.Request().compose(into: &frame)
    return frame
}()

/// A connection that sends any bytes at all. It does not block; every wait has a deadline.
final class RawSocket: Sendable {
    /// The socket's descriptor, open as long as this object lives.
    let descriptor: Int32

    /// Connects. Nil when the daemon's queue of waiting connections is full, or nobody listens.
    ///
    /// Once the descriptor is set, `deinit` closes it also when this returns nil. To close it here
    /// as well would now and then close one that another thread has just been given.
    init?(connectingTo path: String) {
        descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0
        )
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8)
        // One byte stays zero behind the path.
        guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let code = withUnsafePointer(to: &address) {
            // The kernel wants the common prefix of all addresses.
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else { return nil }
    }

    /// Connects, asking again while the daemon's queue is full.
    static func connect(to path: String, withinMilliseconds limit: Int = 120_000) throws
        -> RawSocket
    {
        let deadline = Clock.milliseconds() + limit
        while true {
            if let made = RawSocket(connectingTo: path) { return made }
            let code = errno
            try require(
                Clock.milliseconds() < deadline, "no connection within \(limit) ms: \(words(code))")
            Clock.pause(microseconds: 500)
        }
    }

    deinit { close(descriptor) }

    /// Says that nothing more will be sent.
    func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Whether there is something to receive, or the daemon has closed its side.
    func hasInput() -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) >= 0
    }

    /// What became of a wait or a transfer.
    enum Progress: Sendable { case moved(Int), wouldBlock, gone }

    /// Sends some of the bytes from `offset` on.
    func send(_ bytes: [UInt8], from offset: Int) -> Progress {
        let count = bytes.withUnsafeBytes { whole in
            let rest = UnsafeRawBufferPointer(rebasing: whole[offset...])
            return Glibc.send(
                descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
        }
        if count >= 0 { return .moved(count) }
        return errno == EAGAIN || errno == EINTR ? .wouldBlock : .gone
    }

    /// Appends up to `limit` received bytes. `gone` at the end.
    func receive(into bytes: inout [UInt8], limit: Int = 65_536) -> Progress {
        // `recv` fills the buffer, which is copied from before it ends.
        let count = withUnsafeTemporaryAllocation(byteCount: limit, alignment: 1) { buffer in
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { bytes.append(contentsOf: buffer.prefix(count)) }
            return count
        }
        if count > 0 { return .moved(count) }
        return count < 0 && (errno == EAGAIN || errno == EINTR) ? .wouldBlock : .gone
    }

    /// Waits until something can be received, or sent when `sending`. Throws after the time.
    func wait(sending: Bool, receiving: Bool = true, milliseconds: Int, _ what: String) throws {
        var entry = pollfd(
            fd: descriptor, events: Int16((receiving ? POLLIN : 0) | (sending ? POLLOUT : 0)),
            revents: 0)
        let deadline = Clock.milliseconds() + milliseconds
        while poll(&entry, 1, Int32(max(0, deadline - Clock.milliseconds()))) <= 0 {
            try require(
                Clock.milliseconds() < deadline, "nothing moved for \(milliseconds) ms \(what)")
        }
    }

    /// Sends all bytes; what the daemon says meanwhile is appended to `answers`. Returns false when
    /// the daemon has closed the connection.
    func sendAll(
        _ bytes: [UInt8], answers: inout [UInt8], milliseconds: Int = 120_000
    ) throws -> Bool {
        var offset = 0
        while offset < bytes.count {
            switch send(bytes, from: offset) {
            case .gone: return false
            case .moved(let count): offset += count
            case .wouldBlock:
                try wait(sending: true, milliseconds: milliseconds, "while sending")
                if case .gone = receive(into: &answers) { return false }
            }
        }
        return true
    }

    /// Receives until `isEnough` says so. Returns false when the connection has ended before.
    func receive(
        into answers: inout [UInt8], milliseconds: Int = 120_000, until isEnough: ([UInt8]) -> Bool
    ) throws -> Bool {
        while !isEnough(answers) {
            switch receive(into: &answers) {
            case .gone: return false
            case .moved: continue
            case .wouldBlock:
                try wait(sending: false, milliseconds: milliseconds, "while an answer was awaited")
            }
        }
        return true
    }

    /// Receives so many whole answers, and nothing after them.
    ///
    /// - Parameter received: what of them has come before.
    func answers(
        _ count: Int = 1, received: [UInt8] = [], milliseconds: Int = 120_000
    ) throws -> [WholeAnswer] {
        var bytes = received
        var answers = try WholeAnswer.all(in: bytes) ?? []
        while answers.count < count {
            let had = bytes.count
            let isOpen = try receive(into: &bytes, milliseconds: milliseconds) { $0.count > had }
            try require(isOpen, "the connection ended with \(had) bytes of an answer")
            answers = try WholeAnswer.all(in: bytes) ?? []
        }
        try require(answers.count == count, "\(answers.count) answers came instead of \(count)")
        return answers
    }

    /// Sends a request and receives its answer, also one that comes before all is sent.
    func ask(_ request: [UInt8], milliseconds: Int = 120_000) throws -> WholeAnswer {
        var received: [UInt8] = []
        _ = try sendAll(request, answers: &received, milliseconds: milliseconds)
        return try answers(received: received, milliseconds: milliseconds)[0]
    }
}
