import BlobProtocol
import Bytes

/// The target of a call: the one place where the client percent-encodes.
struct CallTarget {
    /// Path and query.
    private(set) var text: String
    private var hasQuery = false

    /// `prefix`, then `name` percent-encoded as one segment, then `suffix`. Prefix and suffix are not
    /// encoded.
    init(_ prefix: String, _ name: String = "", _ suffix: String = "") {
        text = prefix + Self.encoded(name) + suffix
    }

    /// Adds a parameter to the query, when there is a value.
    mutating func add(_ name: String, _ value: String?) {
        guard let value else { return }
        text += (hasQuery ? "&" : "?") + name + "=" + Self.encoded(value)
        hasQuery = true
    }

    private static func encoded(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var out: [UInt8] = []
        PercentCoding.encode(bytes.span.bytes, into: &out)
        return String(decoding: out, as: UTF8.self)
    }
}
