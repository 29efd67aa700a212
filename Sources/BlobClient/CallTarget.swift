import BlobProtocol
import Bytes
import Notifications

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

extension CallTarget {
    // What the daemon would not take for a name is refused here: an empty one would make another
    // resource of the target.

    static func notification(
        _ id: String, _ suffix: String = ""
    ) throws(ClientError) -> CallTarget {
        try check(id, .id)
        return CallTarget("/v1/notifications/", id, suffix)
    }

    static func user(
        _ owner: String, _ suffix: String = ""
    ) throws(ClientError) -> CallTarget {
        try check(owner, .owner)
        return CallTarget("/v1/users/", owner, suffix)
    }

    /// An owner's notifications of a group, or those of them that are one app's.
    static func group(
        _ group: String, of owner: String, _ app: String?
    ) throws(ClientError) -> CallTarget {
        var target = try user(owner, "/notifications")
        target.add("group", group)
        target.add("app", app)
        return target
    }

    static func category(
        _ name: String, _ app: String?
    ) throws(ClientError) -> CallTarget {
        guard !name.isEmpty else {
            throw .invalid(ProtocolError(.badCategory, "the category must not be empty"))
        }
        var target = CallTarget("/v1/categories/", name)
        target.add("app", app)
        return target
    }

    static func check(_ name: String, _ kind: TextKind) throws(ClientError) {
        do throws(ProtocolError) {
            try kind.check(name.utf8.span.bytes)
        } catch {
            throw .invalid(error)
        }
    }
}
