import Glibc

/// A profile of the files that all SDKs share, `credentials` and `config`, as each of them has it.
struct Profile {
    struct Part {
        var path: String
        /// By their names in lower case. None is empty.
        var fields: [String: String]
    }

    let name: String
    /// The credentials file's first: what both have is read there.
    private(set) var parts: [Part] = []
    /// Why a file has no part.
    private(set) var absences: [String] = []

    private static let files = [
        (variable: "AWS_SHARED_CREDENTIALS_FILE", name: "credentials", prefix: ""),
        (variable: "AWS_CONFIG_FILE", name: "config", prefix: "profile "),
    ]

    /// Reads `AWS_PROFILE`, or `default`, in the files that variables name, or else in those of `~/.aws`, which need not
    /// be there.
    init(_ environment: ProcessEnvironment) throws(ObjectStoreError) {
        let named = environment["AWS_PROFILE"]
        name = named ?? "default"
        for file in Self.files {
            let isNamed = environment[file.variable] != nil
            guard
                let path = environment[file.variable]
                    ?? environment["HOME"].map({ "\($0)/.aws/\(file.name)" })
            else {
                absences.append("\(file.variable) is not set, and neither is HOME")
                continue
            }
            let sections: [String: [String: String]]
            do throws(ObjectStoreError) {
                sections = ProfileFile.parse(
                    String(decoding: try SmallFile.read(path), as: UTF8.self))
            } catch {
                if isNamed { throw error }
                absences.append(error.description)
                continue
            }
            if let fields = sections["\(file.prefix)\(name)"]
                ?? (name == "default" ? sections[name] : nil)
            {
                parts.append(Part(path: path, fields: fields))
            } else {
                absences.append("\(ObjectText.line(path)): it has no profile \(shown)")
            }
        }
        // Another source's credentials may be someone else's.
        if named != nil, parts.isEmpty {
            throw .noCredentials(
                "AWS_PROFILE names a profile that no file has: \(absences.joined(separator: ", "))")
        }
    }

    /// `[name]`, for messages.
    var shown: String { "[\(ObjectText.line(name))]" }

    subscript(field: String) -> String? { parts.lazy.compactMap { $0.fields[field] }.first }

    /// The key that is written in one of the files; nil: in none.
    func key() throws(ObjectStoreError) -> Credentials? {
        for part in parts {
            let id = part.fields["aws_access_key_id"]
            let secret = part.fields["aws_secret_access_key"]
            if id == nil, secret == nil { continue }
            let path = ObjectText.line(part.path)
            guard let id, let secret else {
                throw .noCredentials(
                    "\(path): the profile \(shown) lacks aws_access_key_id or aws_secret_access_key"
                )
            }
            return Credentials(
                accessKeyID: id, secretAccessKey: secret,
                sessionToken: part.fields["aws_session_token"], source: "\(path) \(shown)")
        }
        return nil
    }
}

/// The format of both files: sections in brackets, `name = value`, whole lines of comment.
enum ProfileFile {
    static func parse(_ text: String) -> [String: [String: String]] {
        var sections: [String: [String: String]] = [:]
        var section: String?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = trimmed(line)
            guard let first = line.first, first != "#", first != ";" else { continue }
            if first == "[" {
                section = line.last == "]" ? name(line.dropFirst().dropLast()) : nil
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

    /// A section's name, with one blank after `profile`.
    private static func name(_ text: Substring) -> String {
        let text = trimmed(text)
        guard text.hasPrefix("profile"), text.dropFirst(7).first?.isWhitespace == true else {
            return String(text)
        }
        return "profile \(trimmed(text.dropFirst(7)))"
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first.isWhitespace { text = text.dropFirst() }
        while let last = text.last, last.isWhitespace { text = text.dropLast() }
        return text
    }
}

/// Files that are read whole: profiles and tokens.
enum SmallFile {
    static func read(_ path: String) throws(ObjectStoreError) -> [UInt8] {
        func failed(_ why: String) -> ObjectStoreError {
            .noCredentials("\(ObjectText.line(path)): \(why)")
        }
        guard let file = fopen(path, "re") else { throw failed(String(cString: strerror(errno))) }
        defer { fclose(file) }
        let most = ObjectStoreLimits.credentialsByteCountMax
        var bytes = [UInt8](repeating: 0, count: most + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else { throw failed(String(cString: strerror(errno))) }
        guard count <= most else { throw failed("it is longer than \(most) bytes") }
        return Array(bytes[..<count])
    }

    /// A file that is one word, and may end with a line's end.
    static func token(_ path: String) throws(ObjectStoreError) -> String {
        var bytes = try read(path)
        while let last = bytes.last, last == 0x0A || last == 0x0D || last == 0x20 {
            bytes.removeLast()
        }
        let token = String(decoding: bytes, as: UTF8.self)
        guard !token.isEmpty, token.isPrintableASCII else {
            throw .noCredentials(
                "\(ObjectText.line(path)): \(token.isEmpty ? "it is empty" : "it is no token: it contains blanks, control characters or non-ASCII characters")"
            )
        }
        return token
    }
}
