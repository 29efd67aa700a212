import TestSupport
import Testing

import BlobProtocol

/// Fields that are looked for when somebody asks, and tags that are revisions.
@Suite struct FieldLookupTests {
    /// The value of `blobd-device` in a head with these lines besides Host.
    private func device(_ lines: String, target: String = "/") throws -> String? {
        let bytes = crlf("\nGET \(target) HTTP/1.1\nHost: b\n\(lines)\n\nbody: x\n")
        let (head, _) = try #require(try HTTPRequestHead.parse(bytes.span.bytes))
        return text(try head.value(of: "blobd-device", in: bytes.span.bytes), in: bytes)
    }

    @Test("A field is found by its name, in any case, without the blanks around its value")
    func found() throws {
        #expect(try device("Blobd-Device: phone") == "phone")
        #expect(try device("X: 1\nblobd-device:phone \t\nY: Blobd-Device: no") == "phone")
        #expect(try device("BLOBD-DEVICE: \t a b") == "a b")
        #expect(try device("Blobd-Device:") == "")
        #expect(try device("Blobd-Device: phone", target: "http://h:1/x?blobd-device:1") == "phone")
    }

    @Test("It is nil when it is not there, also when the body looks like it")
    func missing() throws {
        #expect(try device("X-Blobd-Device: a\nBlobd-Devices: b\nBlobd: c") == nil)
        let bytes = crlf("GET / HTTP/1.1\nHost: b\n\nblobd-device: body\n")
        let (head, _) = try #require(try HTTPRequestHead.parse(bytes.span.bytes))
        #expect(try head.value(of: "blobd-device", in: bytes.span.bytes) == nil)
    }

    @Test("Given twice it is refused")
    func twice() throws {
        let bytes = crlf("GET / HTTP/1.1\nHost: b\nBlobd-Device: a\nblobd-device: a\n\n")
        let (head, _) = try #require(try HTTPRequestHead.parse(bytes.span.bytes))
        #expect(
            code { () throws(ProtocolError) in
                _ = try head.value(of: "blobd-device", in: bytes.span.bytes)
            } == .malformed)
    }

    private func named(
        _ lines: String, _ comparison: EntityTags.Comparison = .strong
    ) throws -> String {
        let bytes = crlf("GET / HTTP/1.1\nHost: b\n\(lines)\n\n")
        guard let (head, _) = try HTTPRequestHead.parse(bytes.span.bytes) else { return "no head" }
        do throws(ProtocolError) {
            let tags = try ConditionTags(head.ifMatch, in: bytes.span.bytes, comparison)
            guard let tags else { return "none" }
            if tags.isAny { return "any" }
            return "\(tags.revisions) \(tags.digests.map { $0.rawBytes[0] })"
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
        var tag: [UInt8] = []
        RevisionTags.append(42, to: &tag)
        #expect(tag == Array("\"42\"".utf8))
    }
}
