import Testing

import BlobProtocol

/// Request lines (RFC 9112, section 3) and where requests end.
@Suite struct RequestLineTests {
    @Test("A simple request is read whole, and what follows is left alone")
    func whole() throws {
        let bytes = crlf("GET /v1/stats?x=1?2 HTTP/1.1\nHost: b\n\nGET /")
        guard case .head(let head, let consumed) = parseHead(bytes) else {
            Issue.record("not parsed")
            return
        }
        #expect(head.method == .get)
        #expect(text(head.target, in: bytes) == "/v1/stats?x=1?2")
        #expect(text(head.path, in: bytes) == "/v1/stats")
        #expect(text(head.query, in: bytes) == "x=1?2")
        #expect(head.minorVersion == 1)
        #expect(head.keepAlive)
        #expect(!head.hasBody)
        #expect(consumed == bytes.count - 5)
    }

    @Test("Several requests at once come out one after another")
    func pipelined() {
        let bytes = crlf("GET /a HTTP/1.1\nHost: b\n\n\nHEAD /b HTTP/1.1\nHost: b\n\n")
        guard case .head(_, let consumed) = parseHead(bytes) else {
            Issue.record("not parsed")
            return
        }
        #expect(parseHead(Array(bytes[consumed...])).head?.method == .head)
    }

    @Test(
        "Methods are case-sensitive tokens (RFC 9110, section 9.1)",
        arguments: [
            ("GET", HTTPMethod.get), ("HEAD", .head), ("PUT", .put), ("POST", .post),
            ("DELETE", .delete), ("PATCH", .patch), ("OPTIONS", .options), ("get", .other),
            ("PURGE", .other), ("M-SEARCH", .other), ("GETS", .other),
        ])
    func methods(name: String, method: HTTPMethod) {
        #expect(parseHead(lines: "\(name) / HTTP/1.1\nHost: b").head?.method == method)
    }

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

    @Test("Absolute targets are taken apart (RFC 9112, section 3.2.2)")
    func absolute() {
        for (target, path, query) in [
            ("http://b/p?q", "/p", "q"), ("HTTP://b:80/p", "/p", ""), ("http://[::1]/", "/", ""),
            ("http://b", "", ""), ("http://b?q=/", "", "q=/"),
        ] {
            let bytes = crlf("GET \(target) HTTP/1.1\nHost: b\n\n")
            let head = parseHead(bytes).head
            #expect(text(head?.path, in: bytes) == path)
            #expect(text(head?.query, in: bytes) == query)
        }
        #expect(parseHead(lines: "OPTIONS * HTTP/1.1\nHost: b").head?.path.count == 1)
    }

    @Test(
        "Other versions than 1.1 and 1.0 are 505 (RFC 9110, section 15.6.6)",
        arguments: ["HTTP/2.0", "HTTP/1.2", "HTTP/1.9", "HTTP/0.9", "HTTP/9.9", "HTTP/3.0"])
    func versions(version: String) {
        #expect(parseHead(lines: "GET / \(version)\nHost: b") == .refused(.versionNotSupported))
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

    @Test("Up to four empty lines may come first (RFC 9112, section 2.2)")
    func emptyLines() {
        #expect(parseHead(lines: "\n\n\n\nGET / HTTP/1.1\nHost: b").head != nil)
        #expect(parseHead(lines: "\n\n\n\n\nGET / HTTP/1.1\nHost: b") == .refused(.malformed))
        // A peer that sends nothing but empty lines is refused at the fifth.
        #expect(parseHead(crlf("\n\n\n\n")) == .more)
        #expect(parseHead(pieces: crlf("\n\n\n\n\n").map { [$0] }) == .refused(.malformed))
    }

    @Test("A request line may have 8,192 bytes; one more is 414, whole or in pieces")
    func lineLimit() {
        let fixed = "GET / HTTP/1.1".utf8.count
        let fits = String(repeating: "a", count: WireLimits.requestLineByteCountMax - fixed)
        #expect(parseHead(lines: "GET /\(fits) HTTP/1.1\nHost: b").head != nil)
        #expect(parseHead(lines: "GET /\(fits)a HTTP/1.1\nHost: b") == .refused(.uriTooLong))
        let endless = Array("GET /\(fits)".utf8) + Array(repeating: 0x61, count: fixed)
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
            crlf("GET / HTTP/1.1\nHost: b\nX: \(fits)") + Array(repeating: 0x61, count: 20)
        #expect(parseHead(endless) == .refused(.headersTooLarge))
        #expect(parseHead(pieces: endless.map { [$0] }) == .refused(.headersTooLarge))
    }
}
