import Testing

import BlobProtocol

/// The usual request line is recognised by its words. What is must be what the parser would find.
@Suite struct FetchLineTests {
    private let section = "Host: b\r\n\r\n"

    /// Whether the line was recognised; compares it with what the parser finds.
    private func isRecognised(_ bytes: [UInt8], _ note: String = "") -> Bool {
        guard let line = FetchLine(bytes.span.bytes) else { return false }
        guard case .head(let head, let consumed) = parseHead(bytes) else {
            // The section may be wrong, the line may not.
            let usual = Array(bytes[..<line.end]) + Array(section.utf8)
            #expect(parseHead(usual).head != nil, "\(note) \(bytes)")
            return true
        }
        let path = head.path.of(bytes.span.bytes).array()
        #expect(head.method == .get && head.minorVersion == 1, "\(note) \(bytes)")
        #expect(head.query.isEmpty && consumed > line.end, "\(note) \(bytes)")
        guard case .payload(let id) = Route.parse(path: path.span.bytes) else {
            Issue.record("\(note) \(bytes) is another resource")
            return true
        }
        let name = text(id, in: path)
        #expect(name == text(line.id, in: bytes), "\(note) \(bytes)")
        let isPlain = PercentCoding.isPlain(id.of(path.span.bytes))
        #expect(isPlain, "\(note) \(bytes)")
        let fault = code { () throws(ProtocolError) in
            try Names.checkID(id.of(path.span.bytes))
        }
        #expect(fault == nil, "\(note) \(bytes)")
        return true
    }

    private func request(_ id: String, rest: String = "/payload HTTP/1.1\r\n") -> [UInt8] {
        Array("GET /v1/notifications/\(id)\(rest)\(section)".utf8)
    }

    @Test("Ids of every length are recognised, and no longer ones")
    func lengths() {
        for length in 0...300 {
            let bytes = request(String(repeating: "a", count: length))
            #expect(isRecognised(bytes) == (1...255).contains(length), "\(length)")
        }
    }

    @Test("A byte that does not stand for itself is left to the parser, wherever it stands")
    func bytesOfIDs() {
        for length in 1...20 {
            for place in 0..<length {
                for byte in 0...255 as ClosedRange<UInt8> {
                    var bytes = request(String(repeating: "a", count: length))
                    bytes[22 + place] = byte
                    let isPlain =
                        byte >= 0x26 && byte < 0x7F && byte != UInt8(ascii: "/")
                        && byte != UInt8(ascii: "?")
                    #expect(isRecognised(bytes) == isPlain, "\(byte) at \(place) of \(length)")
                }
            }
        }
    }

    @Test("A line that is not whole is not recognised, whatever comes behind its end")
    func cut() {
        let bytes = request("42")
        let end = bytes.count - section.utf8.count
        for count in 0...bytes.count {
            #expect(isRecognised(Array(bytes[..<count])) == (count >= end), "\(count)")
        }
    }

    @Test("Every byte but the id's must be the one it is")
    func everyByte() {
        let bytes = request("42")
        let end = bytes.count - section.utf8.count
        for place in 0..<end where !(22..<24).contains(place) {
            for bit in 0..<8 {
                var changed = bytes
                changed[place] ^= 1 << bit
                // The slash behind the id may become a byte of it, and then no slash is there.
                #expect(!isRecognised(changed), "bit \(bit) of byte \(place)")
            }
        }
    }

    @Test(
        "Other requests are left to the parser",
        arguments: [
            "GET /v1/notifications/42 HTTP/1.1", "HEAD /v1/notifications/42/payload HTTP/1.1",
            "GET /v1/notifications/42/payload HTTP/1.0", "GET /v1/notifications//payload HTTP/1.1",
            "GET /v1/notifications/42/payload/ HTTP/1.1",
            "GET /v1/notifications/42/payload?a=b HTTP/1.1",
            "GET /v1/notifications/a/b/payload HTTP/1.1",
            "GET /v1/notifications/42/parts/payload HTTP/1.1",
            "GET  /v1/notifications/42/payload HTTP/1.1",
            "GET http://b/v1/notifications/42/payload HTTP/1.1",
            "PUT /v1/notifications/42/payload HTTP/1.1", "GET /api/notifications/42 HTTP/1.1",
            "\r\nGET /v1/notifications/42/payload HTTP/1.1",
        ])
    func others(_ line: String) {
        let bytes = Array("\(line)\r\n\(section)".utf8)
        let found = FetchLine(bytes.span.bytes)
        #expect(found == nil)
    }

    @Test("Damaged lines mean what the parser says")
    func damaged() {
        var generator = SeededGenerator(seed: 16_384)
        var recognised = 0
        for _ in 0..<20_000 {
            let length = Int.random(in: 1...24, using: &generator)
            var bytes = request(String(repeating: "x", count: length))
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[place] = UInt8.random(in: 0x20...0x7F, using: &generator)
            }
            if isRecognised(bytes, "seed \(generator.seed):") { recognised += 1 }
        }
        #expect(recognised > 5_000)
    }
}
