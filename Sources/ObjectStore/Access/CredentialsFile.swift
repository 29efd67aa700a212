import Bytes
import Glibc

/// The shared credentials file of all SDKs: sections in brackets, `name = value`, whole lines of comment.
enum CredentialsFile {
    /// The credentials of a profile in a file.
    static func read(
        _ path: String, profile: String
    ) throws(ObjectStoreError) -> Credentials {
        func failed(_ why: String) -> ObjectStoreError {
            ObjectStoreError(
                .noCredentials,
                "no credentials: \(ObjectText.line(path)): \(why). Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write the file"
            )
        }
        let text: String
        switch contents(of: path) {
        case .success(let bytes): text = String(decoding: bytes, as: UTF8.self)
        case .failure(let failure): throw failed(failure.words)
        }
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

    /// The fields of each section. Empty values, and lines that are neither, are left out.
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

    private struct Failure: Error {
        var words: String
    }

    /// A whole file, if it is no larger than the limit.
    private static func contents(of path: String) -> Result<[UInt8], Failure> {
        func failure() -> Result<[UInt8], Failure> {
            .failure(Failure(words: String(cString: strerror(errno))))
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return failure() }
        defer { close(descriptor) }
        let most = ObjectStoreLimits.credentialsByteCountMax
        var bytes = [UInt8](repeating: 0, count: most + 1)
        var count = 0
        while count < bytes.count {
            // As many bytes as are left of the array are written, during the call.
            let read = bytes.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress.map { $0 + count }, $0.count - count)
            }
            if read < 0 && errno == EINTR { continue }
            guard read >= 0 else { return failure() }
            if read == 0 { break }
            count += read
        }
        guard count <= most else { return .failure(Failure(words: "it has over \(most) bytes")) }
        return .success(Array(bytes[..<count]))
    }
}
