import Bytes

/// The server: scheme, host, port, and a path that some servers have in front of the bucket.
package struct Endpoint: Sendable, Hashable, CustomStringConvertible {
    /// `https://host:port`, without a slash behind it.
    package let origin: String
    /// As the `Host` header has it: without the port that the scheme has anyway.
    let host: String
    /// Empty, or with a slash in front and none behind.
    let path: String

    package var description: String { origin + path }

    /// Reads `https://host`, `http://host:9000` or `https://host/path`.
    package init(_ text: String) throws(ObjectStoreError) {
        func refused(_ why: String) -> ObjectStoreError {
            ObjectStoreError(
                .invalidAddress,
                "the endpoint \"\(ObjectText.line(text))\" \(why). AWS_ENDPOINT_URL has it, such as https://s3.example.com"
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
            throw refused("must have no user, query or fragment")
        }
        let authority = rest.prefix { $0 != "/" }
        var path = rest.dropFirst(authority.count)
        while path.hasSuffix("/") { path = path.dropLast() }
        guard !path.contains("//"), !path.contains("/./"), !path.contains("/../") else {
            throw refused("must have no empty or dot segments")
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
