import BlobProtocol
import BlobStore
import Testing

@testable import BlobServer

@Suite struct ConditionFieldTests {
    private func named(
        _ lines: String, _ comparison: EntityTags.Comparison = .strong
    ) throws -> String {
        let text = "GET / HTTP/1.1\nHost: b\n\(lines)\n\n"
        let bytes = Array(text.replacing("\n", with: "\r\n").utf8)
        guard let (head, _) = try HTTPRequestHead.parse(bytes.span.bytes) else { return "no head" }
        do throws(ProtocolError) {
            switch try EntityTagSet(head.ifMatch, in: bytes.span.bytes, comparison) {
            case nil: return "none"
            case .any?: return "any"
            case .named(let revisions, let digests)?:
                return "\(revisions) \(digests.map { $0.rawBytes[0] })"
            }
        } catch {
            return error.code.rawValue
        }
    }

    @Test("Conditions name revisions and digests (RFC 9110, section 13.1.1)")
    func conditionTags() throws {
        let digest = "sha256:ab" + String(repeating: "0", count: 62)
        for (lines, strong, weak) in [
            ("X: y", "none", "none"), ("If-Match:", "[] []", "[] []"),
            ("If-Match: *", "any", "any"), ("If-Match: \"7\"", "[7] []", "[7] []"),
            (
                "If-Match: \"7\" , \"0\",\nIf-Match: \"18446744073709551615\"",
                "[7, 0, 18446744073709551615] []", "[7, 0, 18446744073709551615] []"
            ),
            ("If-Match: \"\(digest)\"", "[] [171]", "[] [171]"),
            ("If-Match: \"\(digest)-gzip\"", "[] [171]", "[] [171]"),
            ("If-Match: \"7\", \"a,b\", \"\(digest)\"", "[7] [171]", "[7] [171]"),
            ("If-Match: W/\"7\", W/\"\(digest)\"", "[] []", "[7] [171]"),
            ("If-Match: \"x\"\nIf-Match: *", "any", "any"),
        ] {
            let found = try (named(lines), named(lines, .weak))
            #expect(found == (strong, weak), "\(lines)")
        }
        for other in [
            "\"07\"", "\"\"", "\"7x\"", "\"-7\"", "\"sha256:00\"", "\"18446744073709551616\"",
            "\"\(digest.uppercased())\"", "\"\(digest.replacing("ab", with: "AB"))\"",
            "\"\(digest)-br\"", "\"\(digest)-gzip-gzip\"", "\"sha256%3a\(digest.dropFirst(7))\"",
        ] {
            #expect(try named("If-Match: \(other)") == "[] []", "\(other)")
        }
        for wrong in [
            "7", "\"7", "\"", "**", "\"7\" \"8\"", "w/\"7\"", "W\"7\"", "\"7\", *", "\"a b\"",
        ] {
            #expect(try named("If-Match: \(wrong)") == "malformed", "\(wrong)")
        }
    }
}
