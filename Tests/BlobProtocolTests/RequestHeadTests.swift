import Testing

import BlobProtocol

/// The limits of heads of requests, in whatever pieces they come. The rest is in the table `heads.txt` of `Tests/Exchanges`.
@Suite struct RequestHeadTests {
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
}
