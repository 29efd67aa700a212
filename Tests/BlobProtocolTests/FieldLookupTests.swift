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

    @Test("Asked of other bytes it finds nothing that is not in them")
    func otherBytes() throws {
        let bytes = crlf("GET / HTTP/1.1\nHost: b\nBlobd-Device: a\n\n")
        let (head, _) = try #require(try HTTPRequestHead.parse(bytes.span.bytes))
        for count in 0..<bytes.count {
            let slice = try head.value(
                of: "blobd-device", in: bytes.span.bytes.extracting(first: count))
            #expect((slice?.end ?? 0) <= count)
        }
    }

    private func named(_ lines: String) -> RevisionTags.Named? {
        let bytes = crlf("GET / HTTP/1.1\nHost: b\n\(lines)\n\n")
        guard let (head, _) = try? HTTPRequestHead.parse(bytes.span.bytes) else { return nil }
        return RevisionTags.named(by: head.ifMatch, in: bytes.span.bytes)
    }

    @Test("If-Match names revisions by strong tags (RFC 9110, section 13.1.1)")
    func revisions() {
        #expect(named("If-Match: \"7\"") == .revisions([7]))
        #expect(
            named("If-Match: \"7\" , \"0\",\nIf-Match: \"18446744073709551615\"")
                == .revisions([7, 0, .max]))
        #expect(named("If-Match: *") == .any)
        for other in [
            "W/\"7\"", "7", "\"07\"", "\"\"", "\"7", "\"7x\"", "\"-7\"", "\"sha256:00\"",
            "\"18446744073709551616\"", "\"", "**",
        ] {
            #expect(named("If-Match: \(other)") == .revisions([]), "\(other)")
        }
        var tag: [UInt8] = []
        RevisionTags.append(42, to: &tag)
        #expect(tag == Array("\"42\"".utf8))
    }
}
