import Testing

import BlobProtocol

/// A header section that came before need not be parsed again, if it asks for nothing special.
@Suite struct KnownSectionTests {
    private let line = "GET /v1/notifications/42/payload HTTP/1.1\r\n"

    /// How many bytes are remembered of a request with these fields, and whether it is known
    /// afterwards.
    private func remembered(_ fields: String) throws -> (byteCount: Int, isKnown: Bool) {
        let bytes = Array(line.utf8) + crlf(fields + "\n")
        let start = line.utf8.count
        guard case .head(let head, let consumed) = parseHead(bytes) else {
            throw RefusedHead()
        }
        var section = KnownSection()
        section.remember(bytes.span.bytes.extracting(start..<consumed), of: head)
        let isKnown = section.stands(at: start, in: bytes.span.bytes)
        let byteCount = section.byteCount
        #expect(byteCount == (isKnown ? consumed - start : 0))
        return (byteCount, isKnown)
    }

    private struct RefusedHead: Error {}

    @Test(
        "Sections that ask for the whole payload are remembered",
        arguments: [
            "Host: b\n", "Host: b\nUser-Agent: curl/8.0\nAccept: */*\n",
            "Host: b\nConnection: keep-alive\n", "Host: b\nAccept-Encoding: gzip, br\n",
            "Host: b\nRange: lines=1-2\n",
        ])
    func plain(_ fields: String) throws {
        #expect(try remembered(fields).isKnown)
    }

    @Test(
        "Sections that ask for more are not",
        arguments: [
            "Host: b\nRange: bytes=0-1\n", "Host: b\nIf-None-Match: \"x\"\n",
            "Host: b\nIf-Match: *\n", "Host: b\nIf-Range: \"x\"\n", "Host: b\nConnection: close\n",
            "Host: b\nContent-Length: 0\n", "Host: b\nContent-Length: 3\n",
            "Host: b\nTransfer-Encoding: chunked\n", "Host: b\nAccept-Encoding: identity;q=0\n",
        ])
    func special(_ fields: String) throws {
        #expect(try !remembered(fields).isKnown)
    }

    @Test("Sections up to the limit are remembered, and no longer ones")
    func limit() throws {
        let rest = crlf("Host: b\nX: \n\n").count
        for byteCount in [KnownSection.byteCountMax, KnownSection.byteCountMax + 1] {
            let fill = String(repeating: "x", count: byteCount - rest)
            let (count, isKnown) = try remembered("Host: b\nX: \(fill)\n")
            #expect(isKnown == (byteCount == KnownSection.byteCountMax))
            #expect(count == (isKnown ? byteCount : 0))
        }
    }

    @Test("It stands only where every byte is the same, up to its end")
    func comparing() throws {
        for fields in ["Host: b\n", "Host: b\nX: y\n", "Host: b\nAccept: */*\nX: yy\n"] {
            let section = crlf(fields + "\n")
            let bytes = Array(line.utf8) + section
            guard case .head(let head, _) = parseHead(bytes) else { throw RefusedHead() }
            var known = KnownSection()
            let start = line.utf8.count
            var stands = known.stands(at: start, in: bytes.span.bytes)
            #expect(!stands)
            known.remember(section.span.bytes, of: head)
            let more = bytes + [0x47]
            stands = known.stands(at: start, in: bytes.span.bytes)
            let standsBeforeMore = known.stands(at: start, in: more.span.bytes)
            #expect(stands && standsBeforeMore)
            for place in section.indices {
                let cut = Array(bytes[..<(start + place)])
                var changed = bytes
                changed[start + place] ^= 1
                stands =
                    known.stands(at: start, in: cut.span.bytes)
                    || known.stands(at: start, in: changed.span.bytes)
                #expect(!stands, "byte \(place)")
            }
        }
    }
}
