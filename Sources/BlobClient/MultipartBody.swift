/// A body of `multipart/form-data` (RFC 7578) in the making.
struct MultipartBody {
    /// Random, so that no content has it in it.
    private let boundary: String
    private var bytes: [UInt8] = []

    init() {
        var text = "blobd-"
        for _ in 0..<2 {
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            text += String(repeating: "0", count: 16 - digits.count) + digits
        }
        boundary = text
    }

    /// What the body is sent as.
    var mediaType: String { "multipart/form-data; boundary=\(boundary)" }

    /// Appends a field.
    mutating func append(name: String, mediaType: String?, _ content: [UInt8]) {
        bytes.append("--\(boundary)\r\nContent-Disposition: form-data; name=\"")
        for byte in name.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.append(UInt8(ascii: "\\"))
            }
            bytes.append(byte)
        }
        bytes.append("\"\r\n")
        if let mediaType { bytes.append("Content-Type: \(mediaType)\r\n") }
        bytes.append("\r\n")
        bytes += content
        bytes.append("\r\n")
    }

    /// The whole body.
    func finished() -> [UInt8] {
        bytes + Array("--\(boundary)--\r\n".utf8)
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: String) {
        append(contentsOf: text.utf8)
    }
}
