import BlobProtocol
import BlobStore

/// What an owner chose: `{"action","key","dismissed"}`.
enum ResponseDocument {
    /// Reads a document of at most 64 KiB. `dismissed` is true unless it says otherwise.
    static func parse(
        _ bytes: RawSpan, id: String, device: String?
    ) throws(ProtocolError) -> ActionResponse {
        let object = try JSONObject(parsing: bytes, "the response")
        try object.check(["action", "key", "dismissed"])
        var response = ActionResponse(
            id: id, action: try object.required("action"), key: try object.text("key"))
        response.staysOnScreen = try object.flag("dismissed") == false
        response.device = device
        return response
    }
}
