/// An error as S3 and other services of AWS say it.
struct ErrorDocument: Equatable {
    /// `NoSuchKey`, `AccessDenied` …
    var code: String
    var message: String
    var region: String?
    var endpoint: String?

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

    var words: String {
        let code = ObjectText.line(code)
        return message.isEmpty ? code : "\(code) (\(ObjectText.line(message)))"
    }
}
