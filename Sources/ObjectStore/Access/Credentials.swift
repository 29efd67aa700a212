import Bytes

/// Who signs the requests. The secret and the token never stand in a text: `description` is all that is printed.
package struct Credentials: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    let accessKeyID: String
    let secretAccessKey: String
    /// For keys that end by themselves, such as those of a role.
    let sessionToken: String?
    /// When they end, in milliseconds since 1970; nil: never, as far as their source says.
    let expiration: Int64?
    let source: String

    package init(
        accessKeyID: String, secretAccessKey: String, sessionToken: String?,
        expiration: Int64? = nil, source: String
    ) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiration = expiration
        self.source = source
    }

    package var description: String {
        "access key \(ObjectText.line(accessKeyID)) of \(source)"
            + (sessionToken == nil ? "" : ", with a session token")
            + (expiration.map { ", valid until \(RFC3339.text($0))" } ?? "")
    }

    package var customMirror: Mirror { Mirror(self, children: ["description": description]) }

    /// Whether they can stand in a header.
    var isPrintable: Bool {
        [accessKeyID, secretAccessKey, sessionToken ?? ""].allSatisfy(\.isPrintableASCII)
    }
}

extension String {
    /// Whether it has neither blanks nor control characters nor others than those of ASCII.
    var isPrintableASCII: Bool { utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }
}

extension ObjectStoreError {
    static func noCredentials(_ why: String) -> ObjectStoreError {
        ObjectStoreError(.noCredentials, why)
    }
}
