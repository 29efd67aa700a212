import Testing

import BlobProtocol

/// Heads of requests, in whatever pieces they come (RFC 9112, sections 2 to 5). What they ask for is in the table
/// `heads.txt` of `Tests/Exchanges`.
@Suite struct RequestHeadTests {
    @Test(
        "Malformed request lines are refused (RFC 9112, section 3)",
        arguments: [
            "GET  / HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET /", "GET / ", "GET",
            "GET\t/ HTTP/1.1", "G(T / HTTP/1.1", "GET / http/1.1", "GET / HTTP/1",
            "GET / HTTP/1.10",
            "GET / HTTP/11", "GET / HTTQ/1.1", "GET /a b HTTP/1.1", "GET /\u{e9} HTTP/1.1",
            "GET /\u{7f} HTTP/1.1", "GET /#f HTTP/1.1", "GET /\0 HTTP/1.1", "GET relative HTTP/1.1",
            "GET * HTTP/1.1", "CONNECT b:80 HTTP/1.1", "GET ftp://b/ HTTP/1.1",
            "GET http:///p HTTP/1.1", "GET http://u@b/p HTTP/1.1", "GET http:// HTTP/1.1",
            "GET https://b/p HTTP/1.1", "GET HTTPS://b/p HTTP/1.1", "GET http://b:8x/p HTTP/1.1",
            "GET http://b:80:80/p HTTP/1.1", "GET http://[::1/p HTTP/1.1",
            "GET http://b%zz/p HTTP/1.1", "GET http://:80/p HTTP/1.1", "GET http:/p HTTP/1.1",
        ])
    func malformed(line: String) {
        #expect(parseHead(lines: "\(line)\nHost: b") == .refused(.malformed))
    }

    @Test("A lone LF or CR is refused (RFC 9112, section 2.2)")
    func lineEnds() {
        for text in [
            "GET / HTTP/1.1\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: b\n\r\n",
            "GET / HTTP/1.1\r\nHost: b\r\n\n", "\nGET / HTTP/1.1\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\rHost: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: b\rX: y\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: b\r\n\r\r\n", "GET\n", "GET /\n", "GET / HTTP/1.1\r\nHost\n",
        ] {
            #expect(parseHead(Array(text.utf8)) == .refused(.malformed), "\(text.debugDescription)")
        }
    }

    @Test("A request line may have 8,192 bytes; one more is 414, whole or in pieces")
    func lineLimit() {
        let fixed = "GET / HTTP/1.1".utf8.count
        let fits = String(repeating: "a", count: WireLimits.requestLineByteCountMax - fixed)
        #expect(parseHead(lines: "GET /\(fits) HTTP/1.1\nHost: b").head != nil)
        #expect(parseHead(lines: "GET /\(fits)a HTTP/1.1\nHost: b") == .refused(.uriTooLong))
        let endless = Array("GET /\(fits)".utf8) + Array(repeating: 0x61, count: fixed + 64)
        #expect(parseHead(endless) == .refused(.uriTooLong))
        #expect(parseHead(Array(endless[..<8_193])) == .more)
        #expect(parseHead(pieces: endless.map { [$0] }) == .refused(.uriTooLong))
    }

    @Test("A header section may have 16,384 bytes; one more is 431, whole or in pieces")
    func sectionLimit() {
        let fixed = "Host: b\r\nX: \r\n\r\n".utf8.count
        let fits = String(repeating: "a", count: WireLimits.headerSectionByteCountMax - fixed)
        #expect(parseFields("X: \(fits)").head != nil)
        #expect(parseFields("X: \(fits)a") == .refused(.headersTooLarge))
        let endless =
            crlf("GET / HTTP/1.1\nHost: b\nX: \(fits)") + Array(repeating: 0x61, count: 64)
        #expect(parseHead(endless) == .refused(.headersTooLarge))
        #expect(parseHead(pieces: endless.map { [$0] }) == .refused(.headersTooLarge))
    }

    @Test(
        "Malformed field lines are refused (RFC 9112, section 5)",
        arguments: [
            "X : y", " X: y", "\tX: y", ": y", "X", "X y", "X: a\u{0}b", "X: a\u{1}", "X: \u{7f}",
            "X(: y", "X: y\n folded",
        ])
    func malformedFields(line: String) {
        #expect(parseFields(line) == .refused(.malformed))
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
            ("b#", false), ("u@b", false), ("b,c d", false), ("\u{e9}", false),
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
}
