import Bytes
import Hashing

/// A request as it is signed and sent: path style, each name and value encoded once.
struct SignedRequest {
    var target: String
    var headers: [(name: String, value: String)]
}

/// AWS's signature version 4 of a request to S3, with its body's SHA-256 in `x-amz-content-sha256`.
///
/// libcurl's own (`CURLOPT_AWS_SIGV4`) signs no content hash and no sorted query in the version of Debian 12. Every header
/// given here is signed: a proxy that takes `If-None-Match` out makes the signature wrong.
struct RequestSignature {
    let endpoint: Endpoint
    let region: String

    /// - Parameters:
    ///   - path: of the object, from its bucket on, not encoded: `/bucket/key`.
    ///   - query: names and values, not encoded, in any order.
    ///   - headers: besides `Host` and those of the signature.
    func sign(
        _ method: String, path: String, query: [(name: String, value: String)],
        headers: [(name: String, value: String)], bodyDigest: InlineArray<32, UInt8>,
        with credentials: Credentials, at time: SigningTime
    ) -> SignedRequest {
        let digest = Self.hex(bodyDigest.span.bytes)
        let moment = Self.text(time.text)
        var all = [("Host", endpoint.host)] + headers
        all += [("x-amz-content-sha256", digest), ("x-amz-date", moment)]
        if let token = credentials.sessionToken { all.append(("x-amz-security-token", token)) }
        let sorted = all.map { (name: $0.0.lowercased(), value: Self.trimmed($0.1)) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let names = sorted.map(\.name).joined(separator: ";")

        // Segments of the endpoint's own path are encoded already.
        let encodedPath =
            endpoint.path
            // By scalars: a mark that combines with a slash is the next segment's.
            + path.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false)
            .map { Self.encoded(String($0)) }.joined(separator: "/")
        let pairs = query.map { (Self.encoded($0.name), Self.encoded($0.value)) }
            .sorted {
                $0.0 == $1.0
                    ? $0.1.utf8.lexicographicallyPrecedes($1.1.utf8)
                    : $0.0.utf8.lexicographicallyPrecedes($1.0.utf8)
            }
        let encodedQuery = pairs.map { "\($0.0)=\($0.1)" }.joined(separator: "&")

        let canonical =
            "\(method)\n\(encodedPath)\n\(encodedQuery)\n"
            + sorted.map { "\($0.name):\($0.value)\n" }.joined() + "\n\(names)\n\(digest)"
        let day = Self.text(time.day)
        let scope = "\(day)/\(region)/s3/aws4_request"
        let canonicalBytes = Array(canonical.utf8)
        let toSign =
            "AWS4-HMAC-SHA256\n\(moment)\n\(scope)\n"
            + Self.hex(SHA256.digest(of: canonicalBytes.span.bytes).span.bytes)
        var key = Array("AWS4\(credentials.secretAccessKey)".utf8)
        for piece in [day, region, "s3", "aws4_request"] { key = Self.code(key, piece) }
        let signature = Self.hex(Self.code(key, toSign).span.bytes)
        all.append(
            (
                "Authorization",
                "AWS4-HMAC-SHA256 Credential=\(credentials.accessKeyID)/\(scope),SignedHeaders=\(names),Signature=\(signature)"
            ))
        let target = encodedPath + (encodedQuery.isEmpty ? "" : "?\(encodedQuery)")
        return SignedRequest(target: target, headers: all.map { (name: $0.0, value: $0.1) })
    }

    private static func encoded(_ text: String) -> String {
        var out: [UInt8] = []
        PercentCoding.encode(text.utf8.span.bytes, into: &out)
        return Self.text(out)
    }

    private static func hex(_ bytes: RawSpan) -> String {
        var out: [UInt8] = []
        Hex.append(bytes, to: &out)
        return text(out)
    }

    private static func code(_ key: [UInt8], _ text: String) -> [UInt8] {
        HMAC(key: key).code(of: Array(text.utf8)).span.bytes.array()
    }

    private static func trimmed(_ value: String) -> String {
        value.split(separator: " ").joined(separator: " ")
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
