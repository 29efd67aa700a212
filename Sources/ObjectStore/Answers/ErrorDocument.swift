/// What S3's servers say in the body of an error.
struct ErrorDocument: Equatable {
    /// `NoSuchKey`, `AccessDenied` …
    var code: String
    var message: String
    /// The region that a bucket is in, where the server says it.
    var region: String?
    /// Where the bucket is, in a redirect.
    var endpoint: String?

    /// Reads one; nil when the bytes are no such document.
    init?(_ bytes: [UInt8]) {
        guard var root = XMLElement.parse(bytes) else { return nil }
        // Some servers wrap it.
        if root.name == "ErrorResponse", let inner = root["Error"] { root = inner }
        guard root.name == "Error", let code = root.text(of: "Code"), !code.isEmpty else {
            return nil
        }
        self.code = code
        message = root.text(of: "Message") ?? ""
        region = root.text(of: "Region")
        endpoint = root.text(of: "Endpoint")
    }

    /// For messages: `AccessDenied (Access Denied)`.
    var words: String {
        let code = ObjectText.line(code)
        return message.isEmpty ? code : "\(code) (\(ObjectText.line(message)))"
    }
}
