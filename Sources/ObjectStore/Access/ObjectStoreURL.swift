import Bytes

/// Where a store's objects are: `s3://bucket/prefix`, or `s3://bucket`.
///
/// As in AWS's own tools the text is not percent-encoded: `s3://bucket/a%20b` has the prefix `a%20b`.
package struct ObjectStoreURL: Sendable, Hashable, CustomStringConvertible {
    package let bucket: String
    /// Without a slash at its ends. Empty: keys are at the top of the bucket.
    package let prefix: String

    /// How long a prefix may be, in bytes: keys have room after it.
    package static let prefixByteCountMax = 512

    package var description: String {
        prefix.isEmpty ? "s3://\(bucket)" : "s3://\(bucket)/\(prefix)"
    }

    package init(_ text: String) throws(ObjectStoreError) {
        func refused(_ why: String) -> ObjectStoreError {
            ObjectStoreError(
                .invalidAddress, "\"\(ObjectText.line(text))\" is not a bucket address: \(why)")
        }
        guard text.hasPrefix("s3://") else { throw refused("it must be s3://bucket/prefix") }
        let rest = text.utf8.dropFirst(5)
        let bucket = String(decoding: rest.prefix { $0 != UInt8(ascii: "/") }, as: UTF8.self)
        if let fault = Self.fault(inBucket: bucket) {
            throw refused("the bucket \"\(ObjectText.line(bucket))\" \(fault)")
        }
        var prefix = rest.dropFirst(bucket.utf8.count + 1)
        if prefix.last == UInt8(ascii: "/") { prefix = prefix.dropLast() }
        self.bucket = bucket
        self.prefix = String(decoding: prefix, as: UTF8.self)
        if prefix.count > Self.prefixByteCountMax {
            throw refused(
                "the prefix is \(prefix.count) bytes long; the limit is \(Self.prefixByteCountMax)")
        }
        // A prefix of a single slash is an empty segment, too.
        let hasPrefix = rest.count > bucket.utf8.count + 1
        if hasPrefix, let fault = Self.fault(inPath: self.prefix) {
            throw refused("the prefix \(fault)")
        }
    }

    func key(_ name: String) throws(ObjectStoreError) -> String {
        let key = prefix.isEmpty ? name : "\(prefix)/\(name)"
        func refused(_ why: String) -> ObjectStoreError {
            ObjectStoreError(.invalidAddress, "the key \"\(ObjectText.line(name))\" \(why)")
        }
        if key.utf8.count > ObjectStoreLimits.keyByteCountMax {
            throw refused(
                "is \(key.utf8.count) bytes long with its prefix; the limit is \(ObjectStoreLimits.keyByteCountMax)"
            )
        }
        if let fault = Self.fault(inPath: name) { throw refused(fault) }
        return key
    }

    /// Segments that a proxy, or libcurl, would take out of a path, and texts that a line of HTTP cannot carry.
    private static func fault(inPath path: String) -> String? {
        if let fault = UTF8Text.fault(in: path.utf8.span.bytes) { return fault }
        for segment in path.split(separator: "/", omittingEmptySubsequences: false) {
            if segment.isEmpty { return "contains an empty segment" }
            if segment == "." || segment == ".." { return "contains the segment \"\(segment)\"" }
        }
        return nil
    }

    private static func fault(inBucket name: String) -> String? {
        let bytes = Array(name.utf8)
        guard (3...63).contains(bytes.count) else {
            return "is \(bytes.count) characters long; it must be 3 to 63"
        }
        func isAlphanumeric(_ byte: UInt8) -> Bool {
            Decimal.isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
        }
        let marks = [UInt8(ascii: "-"), UInt8(ascii: ".")]
        guard bytes.allSatisfy({ isAlphanumeric($0) || marks.contains($0) }) else {
            return "must contain only lower-case letters, digits, hyphens and dots"
        }
        guard isAlphanumeric(bytes[0]), isAlphanumeric(bytes[bytes.count - 1]) else {
            return "must begin and end with a letter or a digit"
        }
        if name.contains("..") { return "must not contain two consecutive dots" }
        if bytes.allSatisfy({ Decimal.isDigit($0) || $0 == UInt8(ascii: ".") }),
            bytes.count(where: { $0 == UInt8(ascii: ".") }) == 3
        {
            return "must not look like an IP address"
        }
        return nil
    }
}

/// The server: scheme, host, port, and a path that some servers have in front of the bucket.
package struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    /// `https://host:port`, without a slash after it.
    package let origin: String
    /// As the `Host` header has it: without the port that the scheme has anyway.
    let host: String
    /// Empty, or with a slash in front and none after.
    let path: String

    package var description: String { origin + path }

    /// Without port and brackets, in lower case.
    var hostName: String {
        if host.first == "[" { return String(host.dropFirst().prefix { $0 != "]" }) }
        return String(host.prefix { $0 != ":" })
    }

    var isEncrypted: Bool { origin.hasPrefix("https://") }

    /// - Parameter variable: where it is written; for the error.
    package init(
        _ text: String, of variable: String = "AWS_ENDPOINT_URL"
    ) throws(ObjectStoreError) {
        func refused(_ why: String) -> ObjectStoreError {
            ObjectStoreError(
                .invalidAddress,
                "the endpoint \"\(ObjectText.line(text))\" \(why). \(variable) has it, such as https://s3.example.com"
            )
        }
        let defaultPort: String
        var rest = text[...]
        if rest.hasPrefix("https://") {
            (defaultPort, rest) = ("443", rest.dropFirst(8))
        } else if rest.hasPrefix("http://") {
            (defaultPort, rest) = ("80", rest.dropFirst(7))
        } else {
            throw refused("must begin with https:// or http://")
        }
        guard rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw refused("must be ASCII without blanks")
        }
        guard !rest.contains(where: { "?#@\\\"<>".contains($0) }) else {
            throw refused("must not contain a user, query or fragment")
        }
        let authority = rest.prefix { $0 != "/" }
        var path = rest.dropFirst(authority.count)
        while path.hasSuffix("/") { path = path.dropLast() }
        guard !path.contains("//"), !path.contains("/./"), !path.contains("/../") else {
            throw refused("must not contain empty or dot segments")
        }
        var host = authority
        var port = ""
        let literalEnd = authority.lastIndex(of: "]") ?? authority.startIndex
        if let colon = authority[literalEnd...].lastIndex(of: ":") {
            host = authority[..<colon]
            port = String(authority[authority.index(after: colon)...])
            guard let number = UInt16(port), number > 0, port.utf8.allSatisfy(Decimal.isDigit)
            else { throw refused("has the port \"\(port)\"; it must be 1 to 65535") }
        }
        guard !host.isEmpty, host.first == "[" || !host.contains(":") else {
            throw refused("has no host")
        }
        let isDefault = port.isEmpty || port == defaultPort
        self.host = host.lowercased() + (isDefault ? "" : ":\(port)")
        self.origin = (defaultPort == "443" ? "https://" : "http://") + self.host
        self.path = String(path)
    }
}
