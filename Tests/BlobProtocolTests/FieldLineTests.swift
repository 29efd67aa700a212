import BlobProtocol
import TestSupport
import Testing

/// Field lines (RFC 9112, section 5): those that frame a message or a connection, those that are looked for when somebody
/// asks, and tags that are revisions.
@Suite struct FieldLineTests {
    @Test(
        "Malformed field lines are refused (RFC 9112, section 5)",
        arguments: [
            "X : y", " X: y", "\tX: y", ": y", "X", "X y", "X: a\u{0}b", "X: a\u{1}", "X: \u{7f}",
            "X(: y", "X: y\n folded",
        ])
    func malformed(line: String) {
        #expect(parseFields(line) == .refused(.malformed))
    }

    @Test("Blanks around a value are cut off, obs-text is taken (RFC 9110, section 5.5)")
    func values() {
        let bytes = crlf("GET / HTTP/1.1\nHost:b\nContent-type: \t a/b ; c\t\nX: \u{e9}\nY:\n\n")
        #expect(text(parseHead(bytes).head?.contentType, in: bytes) == "a/b ; c")
    }

    @Test("There may be 100 field lines")
    func countLimit() {
        let lines = (1..<WireLimits.fieldLineCountMax).map { "X\($0): y" }.joined(separator: "\n")
        #expect(parseFields(lines).head != nil)
        #expect(parseFields(lines + "\nY: z") == .refused(.headersTooLarge))
    }

    @Test("Exactly one Host, with the syntax of one (RFC 9112, section 3.2)")
    func host() {
        #expect(parseHead(lines: "GET / HTTP/1.1") == .refused(.malformed))
        #expect(parseHead(lines: "GET / HTTP/1.1\nHost: a\nhost: a") == .refused(.malformed))
        #expect(parseHead(lines: "GET / HTTP/1.0\nHost: a\nHost: a") == .refused(.malformed))
        #expect(parseHead(lines: "GET / HTTP/1.0").head?.hostCount == 0)
        #expect(parseHead(lines: "GET / HTTP/1.1\nHost:").head?.hostCount == 1)
        #expect(parseHead(lines: "GET / HTTP/1.1\nHost: [::1]:80").head?.hostCount == 1)
        for host in ["a b", "a/b", "a@b", "a?b", "\u{e9}"] {
            #expect(parseHead(lines: "GET / HTTP/1.1\nHost: \(host)") == .refused(.malformed))
        }
    }

    // Characters alone were looked at, and `b:8x` passed for a host.
    @Test(
        "A host is a name or an address, with a port that is one (RFC 3986, section 3.2)",
        arguments: [
            ("b:8x", false), ("b:80:80", false), ("[::1", false), ("[zz]", false),
            ("[::1]x", false), ("b%zz", false), ("b%4", false), ("b%", false), ("b:65536", false),
            ("b:99999999999999999999", false), (":80", false), (":", false), ("[]", false),
            ("[:]", false), ("[:::]", false), ("[1:2:3]", false), ("[1:2:3:4:5:6:7:8:9]", false),
            ("[1::2::3]", false), ("[12345::]", false), ("[::1%25eth0]", false), ("]", false),
            ("a[b]", false), ("[::1]:x", false), ("[::1]:80:80", false), ("[v1.]", false),
            ("[v.a]", false), ("[::256.0.0.1]", false), ("[::1.2.3]", false),
            ("[1:2:3:4:5:6:7:8::]", false), ("[1:]", false), ("[::01.2.3.4]", false),
            ("b#", false), ("u@b", false), ("b,c d", false),
            ("b", true), ("b:", true), ("b:80", true), ("b:65535", true), ("b:00080", true),
            ("b%41c", true), ("127.0.0.1:8080", true), ("[::]", true), ("[::1]", true),
            ("[::1]:", true), ("[1:2:3:4:5:6:7:8]", true), ("[1::8]", true), ("[1:2::]", true),
            ("[::ffff:1.2.3.4]:80", true), ("[1:2:3:4:5:6:1.2.3.4]", true), ("[v1.a:b]", true),
            ("a-b_c.d~e!f$g&h'i(j)k*l+m,n;o=p", true),
        ])
    func hosts(host: String, isHost: Bool) {
        let outcome = parseHead(lines: "GET / HTTP/1.1\nHost: \(host)")
        #expect(isHost ? outcome.head?.hostCount == 1 : outcome == .refused(.malformed))
        let absolute = parseHead(lines: "GET http://\(host)/p HTTP/1.1\nHost: b")
        #expect(isHost ? absolute.head != nil : absolute == .refused(.malformed))
    }

    @Test("Content-Length is digits, once (RFC 9110, section 8.6; RFC 9112, section 6.3)")
    func contentLength() {
        #expect(parseFields("Content-Length: 0").head?.contentLength == 0)
        #expect(parseFields("Content-Length: 007").head?.contentLength == 7)
        #expect(parseFields("content-LENGTH: 18446744073709551615").head?.contentLength == .max)
        #expect(parseFields("Content-Length: 18446744073709551616") == .refused(.payloadTooLarge))
        for value in [
            "", "-1", "+1", "1, 1", "1,1", "0x1", "1 1", "1.0", "a", "99999999999999999999a",
        ] {
            #expect(parseFields("Content-Length: \(value)") == .refused(.malformed), "\(value)")
        }
        for second in ["1", "2"] {
            #expect(
                parseFields("Content-Length: 1\nContent-Length: \(second)") == .refused(.malformed))
        }
    }

    @Test("Transfer-Encoding is chunked, alone, in HTTP/1.1 (RFC 9112, sections 6.1 and 6.3)")
    func transferEncoding() {
        #expect(parseFields("Transfer-Encoding: Chunked").head?.isChunked == true)
        for value in [
            "gzip", "gzip, chunked", "chunked, chunked", "identity", "", "chunked;q=1", "xchunked",
        ] {
            #expect(
                parseFields("Transfer-Encoding: \(value)") == .refused(.unsupportedTransferCoding))
        }
        #expect(
            parseFields("Transfer-Encoding: chunked\nTransfer-Encoding: chunked")
                == .refused(.unsupportedTransferCoding))
        #expect(
            parseHead(lines: "PUT / HTTP/1.0\nTransfer-Encoding: chunked") == .refused(.malformed))
        for lines in [
            "Transfer-Encoding: chunked\nContent-Length: 1",
            "Content-Length: 1\nTransfer-Encoding: chunked",
            "Content-Length: 0\nTransfer-Encoding: gzip",
        ] {
            #expect(parseFields(lines) == .refused(.malformed))
        }
    }

    @Test("Expect: 100-continue is accepted, anything else is 417 (RFC 9110, section 10.1.1)")
    func expect() {
        #expect(
            parseFields("Expect: 100-Continue\nContent-Length: 1").head?.expectsContinue == true)
        #expect(parseFields("Expect: 100-continue").head?.expectsContinue == false)
        #expect(parseFields("Expect: 200-ok") == .refused(.expectationFailed))
        #expect(parseFields("Expect: 100-continue, x") == .refused(.expectationFailed))
        #expect(
            parseHead(lines: "PUT / HTTP/1.0\nExpect: 100-continue\nContent-Length: 1").head?
                .expectsContinue == false)
    }

    @Test("Connections persist unless said otherwise (RFC 9112, section 9.3)")
    func connection() {
        #expect(parseFields("").head?.keepAlive ?? true)
        #expect(parseFields("Connection: Close").head?.keepAlive == false)
        #expect(parseFields("Connection: x, close ,y").head?.keepAlive == false)
        #expect(parseFields("Connection: keep-alive\nConnection: close").head?.keepAlive == false)
        #expect(parseFields("Connection: closed").head?.keepAlive == true)
        #expect(parseHead(lines: "GET / HTTP/1.0").head?.keepAlive == false)
        #expect(parseHead(lines: "GET / HTTP/1.0\nConnection: Keep-Alive").head?.keepAlive == true)
        #expect(
            parseHead(lines: "GET / HTTP/1.0\nConnection: close, keep-alive").head?.keepAlive
                == false)
    }

    @Test("Fields of which there is one may not come twice")
    func once() {
        for name in ["Content-Type", "If-Range", "Content-Encoding"] {
            #expect(parseFields("\(name): a\n\(name): a") == .refused(.malformed))
        }
    }

    @Test("A PUT of a part of a payload is refused (RFC 9110, section 14.5)")
    func contentRange() {
        #expect(
            parseFields("Content-Range: bytes 0-1/2\nContent-Length: 2", method: "PUT")
                == .refused(.malformed))
        #expect(parseFields("Content-Range: bytes 0-1/2").head != nil)
    }

    @Test("Up to four condition lines are kept; a fifth is 431")
    func conditionLines() {
        let four = Array(repeating: "If-None-Match: \"a\"", count: 4).joined(separator: "\n")
        #expect(parseFields(four).head?.ifNoneMatch.count == 4)
        #expect(parseFields(four + "\nIf-Match: *").head?.ifMatch.count == 1)
        #expect(parseFields(four + "\nIf-None-Match: *") == .refused(.headersTooLarge))
    }

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

    @Test("The entity tag of a notification is its revision in quotes")
    func revisionTag() {
        var tag: [UInt8] = []
        RevisionTags.append(42, to: &tag)
        #expect(tag == Array("\"42\"".utf8))
    }
}
