import BlobProtocol
import TestSupport
import Testing

/// Bodies of several parts (RFC 2046, section 5.1; RFC 7578).
@Suite struct MultipartTests {
    /// What came of a body: each part's name, media type and bytes.
    struct Outcome: Equatable {
        struct Part: Equatable {
            var name: String
            var mediaType: String?
            var bytes: [UInt8] = []
            var isEnded = false
        }
        var parts: [Part] = []
        var isComplete = false
        var code: ErrorCode?
    }

    /// Takes a body apart. The parser is given what it has not consumed and the next piece.
    static func read(_ body: [UInt8], boundary: String = "b") -> Outcome {
        inEveryWay(body) { pieces in
            var outcome = Outcome()
            var parser = MultipartParser(boundary: Array(boundary.utf8))
            var held: [UInt8] = []
            outcome.code = code { () throws(ProtocolError) in
                for piece in pieces {
                    held += piece
                    var isHungry = false
                    while !isHungry, !held.isEmpty {
                        let (found, consumed) = try parser.next(held.span.bytes)
                        isHungry = found == .needsMore
                        let last = outcome.parts.count - 1
                        switch found {
                        case .needsMore, .end: break
                        case .part(let head):
                            outcome.parts.append(
                                Outcome.Part(
                                    name: String(decoding: head.name, as: UTF8.self),
                                    mediaType: head.mediaType))
                        case .bytes(let slice):
                            #expect(!slice.isEmpty && slice.end <= consumed)
                            outcome.parts[last].bytes += held[slice.offset..<slice.end]
                        case .partEnd: outcome.parts[last].isEnded = true
                        }
                        held.removeFirst(consumed)
                        if isHungry { #expect(held.count <= 8_192) }
                    }
                }
            }
            // What came of it before it was refused is nobody's.
            if outcome.code != nil { outcome.parts = [] }
            outcome.isComplete = parser.isComplete
            return outcome
        }
    }

    private static func part(_ name: String, _ bytes: String, _ type: String? = nil) -> Outcome.Part
    {
        Outcome.Part(name: name, mediaType: type, bytes: Array(bytes.utf8), isEnded: true)
    }

    /// A part's head with this name.
    private static func head(_ name: String) -> String {
        "Content-Disposition: form-data; name=\"\(name)\"\n\n"
    }

    @Test(
        "The same parts however the body is cut",
        arguments: [
            ("--b\n\(head("a"))x\n--b--", [part("a", "x")]),
            ("--b\n\(head("a"))x\n--b--\n", [part("a", "x")]),
            ("\n--b\n\(head("a"))x\n--b--\nepilogue", [part("a", "x")]),
            ("preamble\n--bx is no line\n-b\n", []),
            ("pre --b\n--b\n\(head("a"))\n--b--", [part("a", "")]),
            (
                "--b \t\n\(head("a"))1\n--b  \n\(head("c"))2\n--b--",
                [part("a", "1"), part("c", "2")]
            ),
            // No empty line, because there is no byte behind it.
            ("--b\nContent-Disposition: form-data; name=a\n\n--b--", [part("a", "")]),
            // What only begins like a delimiter belongs to the part.
            (
                "--b\n\(head("a"))\n-b\n--\n\n\n--a--b\n--b--",
                [part("a", "\r\n-b\r\n--\r\n\r\n\r\n--a--b")]
            ),
            (
                "--b\nContent-Type: image/png; q=\"a;b\"\nX-Other: 1\ncontent-disposition:form-data;NAME=a;filename=\"b\\\"c.png\"\n\nxyz\n--b--",
                [part("a", "xyz", "image/png; q=\"a;b\"")]
            ),
            (
                "--b\nContent-Disposition: form-data; filename*=UTF-8''%e2%82%ac; name=\"a \\\"b\\\" c\\d\\\\;\"\nContent-Transfer-Encoding: binary\n\n\n--b--",
                [part("a \"b\" c\\d\\;", "")]
            ),
        ] as [(String, [Outcome.Part])])
    func pieces(text: String, parts: [Outcome.Part]) {
        let body = crlf(text)
        let outcome = Self.read(body)
        guard !parts.isEmpty else {
            // The second line begins with the boundary and goes on otherwise.
            #expect(outcome.code == .badMultipart)
            return
        }
        #expect(outcome == Outcome(parts: parts, isComplete: true))
    }

    @Test("Every byte may be in a part, and a cut body is not complete")
    func binary() {
        var bytes: [UInt8] = []
        for first in 0...255 as ClosedRange<UInt8> {
            bytes += [first, 0x0D, 0x0A, 0x2D, 0x2D, first, 0x0D]
        }
        let boundary = "0123456789-abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ'()+,."
        #expect(boundary.utf8.count == WireLimits.boundaryByteCountMax)
        let body =
            crlf("--\(boundary)\n\(Self.head("file"))") + bytes + crlf("\n--\(boundary)--\n")
        let whole = Self.read(body, boundary: boundary)
        #expect(whole.code == nil && whole.isComplete)
        #expect(whole.parts.map(\.bytes) == [bytes])
        // The line end behind the last delimiter is not needed.
        for count in stride(from: 0, to: body.count - 2, by: 23) {
            let outcome = Self.read(Array(body[..<count]), boundary: boundary)
            #expect(!outcome.isComplete && outcome.code == nil)
        }
    }

    @Test("Random bodies made of what delimiters are made of", arguments: [1, 2, 3] as [UInt64])
    func random(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let words = ["\r", "\n", "\r\n", "-", "--", "\r\n--", "b", "bb", "\r\n--b", "x", "\0"]
        for _ in 0..<testRounds(25) {
            var files: [[UInt8]] = []
            var body: [UInt8] = []
            for index in 0..<Int.random(in: 1...4, using: &generator) {
                var file: [UInt8] = []
                for _ in 0..<Int.random(in: 0...20, using: &generator) {
                    file += Array((words.randomElement(using: &generator) ?? "").utf8)
                }
                // The delimiter itself is what a sender must see to.
                guard !contains(Array("\r\n".utf8) + file, "\r\n--bbb") else { continue }
                files.append(file)
                body += crlf("--bbb\n\(Self.head("\(index)"))") + file + [0x0D, 0x0A]
            }
            body += Array("--bbb--".utf8)
            let outcome = Self.read(body, boundary: "bbb")
            #expect(outcome.parts.map(\.bytes) == files, "seed \(seed)")
            #expect(outcome.isComplete && outcome.code == nil, "seed \(seed)")
        }
    }

    private func contains(_ bytes: [UInt8], _ text: String) -> Bool {
        let wanted = Array(text.utf8)
        guard bytes.count >= wanted.count else { return false }
        return (0...(bytes.count - wanted.count)).contains {
            Array(bytes[$0..<($0 + wanted.count)]) == wanted
        }
    }

    @Test(
        "Malformed bodies are refused",
        arguments: [
            // What follows a boundary.
            "--b\r\r\n", "--b\n", "--bx", "--b-\r\n", "--b -", "--b x", "--b \u{1}",
            // Heads.
            "--b\r\n\r\nx", "--b\r\nContent-Type: a/b\r\n\r\nx", "--b\r\nno field\r\n\r\n",
            "--b\r\n: x\r\n\r\n", "--b\r\nContent-Disposition: form-data; name=a\n\r\n",
            "--b\r\nContent-Disposition: form-data;\r\n name=a\r\n\r\n", "--b\r\nA: \u{0}\r\n\r\n",
            "--b\r\nA: b\rc\r\n\r\n", "--b\r\nContent-Disposition: attachment; name=a\r\n\r\n",
            "--b\r\nContent-Disposition: form-data\r\n\r\n",
            "--b\r\nContent-Disposition: form-data; filename=a\r\n\r\n",
            "--b\r\nContent-Disposition: form-data; name=\"\"\r\n\r\n",
            "--b\r\nContent-Disposition: form-data; name=\"a\r\n\r\n",
            "--b\r\nContent-Disposition: form-data; name=a b\r\n\r\n",
            "--b\r\nContent-Disposition: form-data; name=a; name=a\r\n\r\n",
            "--b\r\nContent-Disposition: form-data; name=a\r\ncontent-disposition: form-data; name=a\r\n\r\n",
            "--b\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64\r\n\r\n",
            "--b\r\nContent-Disposition: form-data; name=a\r\nContent-Type: a/b\r\nContent-Type: a/b\r\n\r\n",
        ])
    func malformed(body: String) {
        #expect(Self.read(Array(body.utf8)).code == .badMultipart)
    }

    @Test("Heads, lines, blanks, what is before and what is behind have limits")
    func limits() {
        func repeated(_ text: String, _ count: Int) -> String {
            String(repeating: text, count: count)
        }
        func expect(_ fits: String, _ tooLong: String) {
            let outcome = Self.read(crlf(fits))
            #expect(outcome.isComplete && outcome.code == nil)
            #expect(Self.read(crlf(tooLong)).code == .badMultipart)
        }
        let rest = "\(Self.head("a"))x\n--b--"
        let blanks = WireLimits.multipartBlankByteCountMax
        expect("--b\(repeated(" ", blanks))\n\(rest)", "--b\(repeated(" ", blanks + 1))\n\(rest)")
        let preamble = WireLimits.multipartPreambleByteCountMax
        expect(
            "\(repeated("x", preamble))\n--b\n\(rest)",
            "\(repeated("x", preamble + 1))\n--b\n\(rest)")
        expect(
            "--b\n\(rest)\(repeated("x", preamble))", "--b\n\(rest)\(repeated("x", preamble + 1))")
        let lines = WireLimits.multipartHeadLineCountMax - 1
        expect(
            "--b\n\(repeated("A: b\n", lines))\(rest)",
            "--b\n\(repeated("A: b\n", lines + 1))\(rest)")
        // "A: " and the ends of both lines are 7 bytes, the other line is 40.
        let line = "Content-Disposition: form-data; name=\"a\""
        let left = WireLimits.multipartHeadByteCountMax - 7 - line.utf8.count
        expect(
            "--b\nA: \(repeated("x", left))\n\(rest)", "--b\nA: \(repeated("x", left + 1))\n\(rest)"
        )
    }

    @Test(
        "A boundary is read from the media type",
        arguments: [
            ("multipart/form-data; boundary=abc", "abc"),
            ("Multipart/Form-Data ; charset=utf-8 ;Boundary=\"a b'(:)\"", "a b'(:)"),
            (
                "multipart/form-data;boundary=----WebKitFormBoundaryABC;",
                "----WebKitFormBoundaryABC"
            ),
        ])
    func boundary(type: String, boundary: String) throws {
        let read = try MultipartParser.boundary(of: Array(type.utf8).span.bytes)
        #expect(String(decoding: read, as: UTF8.self) == boundary)
    }

    @Test(
        "An invalid boundary is refused",
        arguments: [
            "multipart/form-data", "multipart/mixed; boundary=a", "multipart/form-data; boundary=",
            "multipart/form-data; boundary=\"\"", "multipart/form-data; boundary=\"a \"",
            "multipart/form-data; boundary=a; boundary=a", "multipart/form-data; boundary=a b",
            "multipart/form-data; boundary=\"a", "multipart/form-data; boundary=\"a&b\"",
            "multipart/form-data; boundary=\"é\"", "multipart/form-data boundary=a", "",
            "multipart/form-data; boundary=" + String(repeating: "a", count: 71),
        ])
    func badBoundary(type: String) {
        let refusal = code { () throws(ProtocolError) in
            _ = try MultipartParser.boundary(of: Array(type.utf8).span.bytes)
        }
        #expect(refusal == .badMultipart)
    }
}
