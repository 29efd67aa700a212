import BlobProtocol
import Bytes

/// What a log says of a request: nothing that is secret, no payload. A signed link's query, which has
/// its signature, is left out.
struct LoggedRequest: Sendable {
    /// The most of a request's target that a log shows, in bytes.
    static let targetByteCountMax = 1_024

    /// HTTP's method, or the name of the binary operation.
    var method: StaticString
    /// The path and the query as they were sent, or an id; at most
    /// ``LoggedRequest/targetByteCountMax`` bytes.
    var target: String
    /// `HTTP/1.1`, or `blobd`.
    var version: StaticString
    /// The client's name for itself; empty where it has none.
    var userAgent = ""
    /// Whether it came by the device socket.
    var isDevice = false
    /// The user at the other end.
    var userID: UInt32 = 0

    /// A text as it may be logged: of so many bytes, what is not printable ASCII as a question mark.
    static func text(_ bytes: RawSpan) -> String {
        let bytes = bytes.extracting(first: Self.targetByteCountMax)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.byteCount)
        let plain = bytes.printableByteCount
        text.append(contentsOf: bytes.extracting(first: plain))
        for index in plain..<bytes.byteCount {
            let byte = bytes.byte(index)
            text.append((0x20..<0x7F).contains(byte) ? byte : UInt8(ascii: "?"))
        }
        return String(decoding: text, as: UTF8.self)
    }
}
