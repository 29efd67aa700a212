import CLinux
import Glibc
import TestSupport

/// A connection that sends and receives exactly what a test says, in either dialect.
final class RawClient {
    let descriptor: Int32
    /// What was received and not taken yet.
    private(set) var received: [UInt8] = []

    init(_ path: String) throws {
        descriptor = clinux_unix_socket()
        var path = path
        let code = path.withUTF8 { clinux_connect(descriptor, $0.baseAddress, $0.count) }
        guard code == 0 else {
            let failure = TestFailure("connect", errno)
            close(descriptor)
            throw failure
        }
    }

    /// Takes over an end of a connection.
    init(taking descriptor: Int32) { self.descriptor = descriptor }

    deinit {
        close(descriptor)
    }

    /// Sends all of it; stops without an error when the daemon has closed.
    func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 { return }
            sent += count
        }
    }

    /// Sends text; lines end as they are written, so with `\r\n` where HTTP wants it.
    func send(_ text: String) {
        send(Array(text.utf8))
    }

    /// Sends as much as the socket takes without waiting.
    ///
    /// - Returns: how much that was.
    func sendWithoutWaiting(_ bytes: [UInt8]) -> Int {
        max(0, bytes.withUnsafeBytes { clinux_send(descriptor, $0.baseAddress, $0.count) })
    }

    /// Sends no more; reading continues.
    func endSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Waits until something can be read.
    ///
    /// - Returns: false when nothing came in so many milliseconds.
    func waitForInput(milliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, milliseconds) > 0
    }

    /// Reads once, at most `count` bytes; nothing at the end.
    func read(_ count: Int = 65_536) throws -> [UInt8] {
        guard waitForInput(milliseconds: Patience.milliseconds) else {
            throw TestFailure("no answer came")
        }
        var buffer = [UInt8](repeating: 0, count: count)
        let got = Glibc.read(descriptor, &buffer, count)
        return Array(buffer.prefix(max(0, got)))
    }

    /// Exactly `count` bytes.
    func receive(_ count: Int) throws -> [UInt8] {
        while received.count < count {
            let more = try read(max(65_536, count - received.count))
            guard !more.isEmpty else {
                throw TestFailure(
                    "the connection ended after \(received.count) of \(count) bytes")
            }
            received += more
        }
        defer { received.removeFirst(count) }
        return Array(received.prefix(count))
    }

    /// Everything up to the end of the connection.
    func receiveAll() throws -> [UInt8] {
        while true {
            let more = try read()
            if more.isEmpty { break }
            received += more
        }
        defer { received = [] }
        return received
    }

    /// Whether the daemon closes without another byte.
    func isClosed() throws -> Bool { try receiveAll().isEmpty }

    /// The bytes up to and with `end`.
    func receive(upTo end: [UInt8]) throws -> [UInt8] {
        while true {
            if let range = received.firstRange(of: end) { return try receive(range.upperBound) }
            let more = try read()
            guard !more.isEmpty else { throw TestFailure("the connection ended in a head") }
            received += more
        }
    }
}
