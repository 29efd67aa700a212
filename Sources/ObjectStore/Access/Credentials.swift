/// Who signs the requests. The secret and the token never stand in a text: `description` is all that is printed.
package struct Credentials: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    let accessKeyID: String
    let secretAccessKey: String
    /// For keys that end by themselves, such as those of a role.
    let sessionToken: String?
    /// Where they are from, for messages.
    let source: String

    package init(
        accessKeyID: String, secretAccessKey: String, sessionToken: String?, source: String
    ) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.source = source
    }

    package var description: String {
        "access key \(ObjectText.line(accessKeyID)) of \(source)\(sessionToken == nil ? "" : ", with a session token")"
    }

    package var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
