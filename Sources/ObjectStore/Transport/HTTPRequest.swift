/// A request as libcurl is given it.
struct HTTPRequest {
    var method: String
    var url: String
    /// `name: value` lines, without line ends.
    var headers: [String]
    /// Of the whole request.
    var timeoutMilliseconds: Int
}

/// Why there is no whole answer.
enum TransportFailure: Error, Equatable {
    /// The server has got nothing of the request.
    case notConnected(String)
    /// The server may have got all of it.
    case cut(String)
    /// The stop signal came; `isBegun`: after the server may have got all of it.
    case stopped(isBegun: Bool)
}

/// The bytes of a body on their way. They are valid during one request.
final class HTTPUpload {
    private let bytes: UnsafeRawBufferPointer
    private(set) var sentByteCount = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var byteCount: Int { bytes.count }

    /// Copies what comes next. Returns how many bytes, 0 at the end.
    func read(into target: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(target.count, bytes.count - sentByteCount)
        guard count > 0 else { return 0 }
        let piece = UnsafeRawBufferPointer(
            rebasing: bytes[sentByteCount..<sentByteCount + count])
        target.copyMemory(from: piece)
        sentByteCount += count
        return count
    }
}
