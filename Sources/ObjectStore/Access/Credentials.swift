import Bytes
import Glibc
import Synchronization

/// The credentials that all clients of a bucket sign with, read again when a server refuses them: a key that is rotated in
/// the file is taken over while the daemon runs.
package final class CredentialsProvider: Sendable {
    private let environment: ProcessEnvironment
    private let current: Mutex<Credentials>

    /// Reads them: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, else the file that
    /// `AWS_SHARED_CREDENTIALS_FILE` names, or `~/.aws/credentials`, there the profile `AWS_PROFILE`, or `default`.
    package init(_ environment: ProcessEnvironment) throws(ObjectStoreError) {
        self.environment = environment
        current = Mutex(try Self.checked(environment))
    }

    package var credentials: Credentials { current.withLock { $0 } }

    /// Reads them again, because a server refused `refused`.
    ///
    /// - Returns: others, or nil when they are the same. What cannot be read now leaves those that are there.
    func refresh(insteadOf refused: Credentials) -> Credentials? {
        current.withLock { current in
            // Another client was first.
            if current != refused { return current }
            guard let read = try? Self.checked(environment), read != refused else { return nil }
            current = read
            return read
        }
    }

    /// Credentials that can stand in a header.
    private static func checked(
        _ environment: ProcessEnvironment
    ) throws(ObjectStoreError) -> Credentials {
        let read = try read(environment)
        for text in [read.accessKeyID, read.secretAccessKey, read.sessionToken ?? "-"]
        where !text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) {
            throw ObjectStoreError(
                .noCredentials,
                "the credentials of \(read.source) contain blanks, control characters or non-ASCII characters"
            )
        }
        return read
    }

    private static func read(
        _ environment: ProcessEnvironment
    ) throws(ObjectStoreError) -> Credentials {
        let id = environment["AWS_ACCESS_KEY_ID"]
        let secret = environment["AWS_SECRET_ACCESS_KEY"]
        if let id, let secret {
            return Credentials(
                accessKeyID: id, secretAccessKey: secret,
                sessionToken: environment["AWS_SESSION_TOKEN"], source: "the environment")
        }
        guard id == nil, secret == nil else {
            throw ObjectStoreError(
                .noCredentials,
                "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set: set both, or neither and use a credentials file"
            )
        }
        let named = environment["AWS_SHARED_CREDENTIALS_FILE"]
        guard let path = named ?? environment["HOME"].map({ "\($0)/.aws/credentials" }) else {
            throw ObjectStoreError(
                .noCredentials,
                "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE"
            )
        }
        return try CredentialsFile.read(path, profile: environment["AWS_PROFILE"] ?? "default")
    }
}

/// Who signs the requests. The secret and the token never stand in a text: `description` is all that is printed.
package struct Credentials: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    let accessKeyID: String
    let secretAccessKey: String
    /// For keys that end by themselves, such as those of a role.
    let sessionToken: String?
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

/// The shared credentials file of all SDKs: sections in brackets, `name = value`, whole lines of comment.
enum CredentialsFile {
    static func read(
        _ path: String, profile: String
    ) throws(ObjectStoreError) -> Credentials {
        func failed(_ why: String) -> ObjectStoreError {
            ObjectStoreError(
                .noCredentials,
                "no credentials: \(ObjectText.line(path)): \(why). Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write the file"
            )
        }
        guard let file = fopen(path, "re") else { throw failed(String(cString: strerror(errno))) }
        defer { fclose(file) }
        let most = ObjectStoreLimits.credentialsByteCountMax
        var bytes = [UInt8](repeating: 0, count: most + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else { throw failed(String(cString: strerror(errno))) }
        guard count <= most else { throw failed("it is longer than \(most) bytes") }
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        guard let fields = parse(text)[profile] else {
            throw failed("it has no profile [\(ObjectText.line(profile))]")
        }
        guard let id = fields["aws_access_key_id"], let secret = fields["aws_secret_access_key"]
        else {
            throw failed(
                "the profile [\(ObjectText.line(profile))] lacks aws_access_key_id or aws_secret_access_key"
            )
        }
        return Credentials(
            accessKeyID: id, secretAccessKey: secret, sessionToken: fields["aws_session_token"],
            source: "\(ObjectText.line(path)) [\(ObjectText.line(profile))]")
    }

    static func parse(_ text: String) -> [String: [String: String]] {
        var sections: [String: [String: String]] = [:]
        var section: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = trimmed(line)
            guard let first = line.first, first != "#", first != ";" else { continue }
            if first == "[" {
                section = line.last == "]" ? String(trimmed(line.dropFirst().dropLast())) : nil
                if let section { sections[section] = sections[section] ?? [:] }
                continue
            }
            guard let section, let equals = line.firstIndex(of: "=") else { continue }
            let value = trimmed(line[line.index(after: equals)...])
            guard !value.isEmpty else { continue }
            sections[section]?[trimmed(line[..<equals]).lowercased()] = String(value)
        }
        return sections
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first.isWhitespace { text = text.dropFirst() }
        while let last = text.last, last.isWhitespace { text = text.dropLast() }
        return text
    }
}
