import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// What an owner chose: `{"action","key","dismissed","extension"}`.
enum ResponseDocument {
    /// Reads a document of at most 64 KiB. `dismissed` is true unless it, or what the content
    /// extension answered, says otherwise. Throws `bad_response` where the two disagree.
    static func parse(
        _ bytes: RawSpan, id: NotificationID
    ) throws(ProtocolError) -> ActionResponse {
        let object = try JSONObject(parsing: bytes, "the response")
        try object.check(["action", "key", "dismissed", "extension"])
        var response = ActionResponse(
            id: id.text, action: try object.required("action"), key: try object.text("key"))
        let isDismissed = try object.flag("dismissed")
        response.contentExtension = try contentExtension(object)
        response.staysOnScreen =
            isDismissed.map { !$0 } ?? (response.contentExtension == .doNotDismiss)
        return response
    }

    private static func contentExtension(
        _ object: JSONObject
    ) throws(ProtocolError) -> ContentExtensionAnswer? {
        guard let name = try object.text("extension") else { return nil }
        guard let answer = ContentExtensionAnswer(name: name) else {
            let known = ContentExtensionAnswer.allCases.map(\.name).joined(separator: ", ")
            throw ProtocolError(
                .badResponse,
                "unknown extension \(name.utf8.span.bytes.excerpt()); known are \(known)")
        }
        return answer
    }
}
