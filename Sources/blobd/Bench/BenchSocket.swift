import Glibc

/// A non-blocking connection to the server under load; the only file of the load generator that
/// makes system calls on sockets.
struct BenchSocket: ~Copyable {
    let descriptor: Int32

    init(path: String) throws(BenchFailure) {
        descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw BenchFailure("the socket's path is longer than 107 bytes")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // connect reads the address during the call only.
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw BenchFailure("\(path): \(errorText(errno))") }
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    deinit { close(descriptor) }

    /// Sends what can be sent now of `bytes` from `offset` on; returns how many bytes that was.
    func send(_ bytes: [UInt8], from offset: Int) throws(BenchFailure) -> Int {
        try send(bytes.span.bytes.extracting(offset..<bytes.count))
    }

    /// Sends what can be sent now of payload `index` from `offset` on.
    func send(
        _ payloads: BenchPayloads, _ index: Int, from offset: Int
    ) throws(BenchFailure) -> Int {
        try send(payloads.bytes(index).extracting(offset..<payloads.byteCount))
    }

    private func send(_ bytes: RawSpan) throws(BenchFailure) -> Int {
        let count = bytes.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if count >= 0 { return count }
        if errno == EAGAIN || errno == EINTR { return 0 }
        throw BenchFailure("send: \(errorText(errno))")
    }

    /// Fills `buffer` with what has come; returns how many bytes, or nil when nothing has.
    func receive(into buffer: inout [UInt8]) throws(BenchFailure) -> Int? {
        let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        if count > 0 { return count }
        if count == 0 { throw BenchFailure("the server closed the connection") }
        if errno == EAGAIN || errno == EINTR { return nil }
        throw BenchFailure("receive: \(errorText(errno))")
    }
}

extension RawSpan {
    /// Compares with `memcmp`.
    func hasSameBytes(as other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        if byteCount == 0 { return true }
        return withUnsafeBytes { left in
            other.withUnsafeBytes { memcmp(left.baseAddress!, $0.baseAddress!, left.count) == 0 }
        }
    }
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
func monotonicNanoseconds() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}
