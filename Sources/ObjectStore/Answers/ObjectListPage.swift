import Bytes

package struct ObjectListPage: Sendable, Equatable {
    package struct Object: Sendable, Equatable {
        package var key: String
        package var byteCount: Int
        /// When it was put, by the server's clock, in milliseconds since 1970; nil where that cannot be read.
        package var modifiedMilliseconds: Int64?
    }

    /// Sorted by the bytes of their keys.
    package var objects: [Object]
    package var next: ObjectListPosition?
}

package struct ObjectListPosition: Sendable, Equatable {
    let token: String
}

extension ObjectListPage {
    /// Reads an answer of ListObjectsV2.
    ///
    /// - Parameters:
    ///   - droppedByteCount: how much of that is the store's prefix.
    ///   - startAfter: what all keys lie after; nil: the listing begins at the first, or continues.
    static func parse(
        _ bytes: [UInt8], prefix: String, droppedByteCount: Int, startAfter: String?
    ) -> Result<ObjectListPage, BadListing> {
        guard let root = XMLElement.parse(bytes), root.name == "ListBucketResult" else {
            return .failure("no ListBucketResult")
        }
        let isEncoded = root.text(of: "EncodingType") == "url"
        var page = ObjectListPage(objects: [])
        var last = startAfter
        for element in root.children where element.name == "Contents" {
            guard let raw = element.text(of: "Key"), let key = decoded(raw, isEncoded),
                key.utf8.starts(with: prefix.utf8)
            else { return .failure("a key that was not requested") }
            if let last, !last.utf8.lexicographicallyPrecedes(key.utf8) {
                return .failure("keys out of order")
            }
            last = key
            guard let size = element.text(of: "Size").flatMap({ Int($0) }), size >= 0 else {
                return .failure("an object without a size")
            }
            let time = Array((element.text(of: "LastModified") ?? "").utf8)
            page.objects.append(
                Object(
                    key: String(decoding: key.utf8.dropFirst(droppedByteCount), as: UTF8.self),
                    byteCount: size, modifiedMilliseconds: RFC3339.milliseconds(time.span.bytes)))
        }
        switch root.text(of: "IsTruncated") {
        case "false": break
        case "true":
            // An empty page that is not the last is allowed, one without a token would be requested again and again.
            guard let token = root.text(of: "NextContinuationToken"), !token.isEmpty else {
                return .failure("an incomplete page without a token for the next")
            }
            page.next = ObjectListPosition(token: token)
        default: return .failure("no IsTruncated")
        }
        return .success(page)
    }

    private static func decoded(_ text: String, _ isEncoded: Bool) -> String? {
        guard isEncoded else { return text }
        var bytes: [UInt8] = []
        let encoded = Array(text.utf8)
        // AWS writes a space as `+`, and a plus as `%2B`.
        guard PercentCoding.decode(encoded.span.bytes, plusIsSpace: true, into: &bytes) == nil
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

struct BadListing: Error, ExpressibleByStringLiteral {
    var words: String

    init(stringLiteral words: String) { self.words = words }
}
