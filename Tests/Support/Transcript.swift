/// The requests and responses of one connection. `docs/PROTOCOL.md` and `Tests/Transcripts` explain how it is written.
public struct Transcript: Sendable {
    /// A request and its response.
    public struct Exchange: Sendable {
        /// The bytes that are sent.
        public var request: [UInt8]
        /// The expected response.
        public var response: Expected
    }

    /// The bytes or fields that a response must have.
    public enum Expected: Sendable {
        case binary(BytePattern)
        case http(HTTPPattern)
    }

    /// The heading above the blocks.
    public var title: String
    /// The exchanges of one connection, in order.
    public var exchanges: [Exchange]

    /// A mistake in the document.
    public struct Mistake: Error, CustomStringConvertible {
        /// What is wrong, and where.
        public var description: String
    }

    /// The transcripts of `docs/PROTOCOL.md` and `Tests/Transcripts`.
    public static func all() throws -> [Transcript] {
        let documents = [
            "docs/PROTOCOL.md", "Tests/Transcripts/binary.txt", "Tests/Transcripts/http.txt",
        ]
        return try all(documents.flatMap { DocumentBlock.all(in: $0) })
    }

    /// All transcripts of a document, one for each heading that has blocks.
    public static func all(in document: String) throws(Mistake) -> [Transcript] {
        try all(DocumentBlock.all(ofText: document))
    }

    private static func all(_ blocks: [DocumentBlock]) throws(Mistake) -> [Transcript] {
        var transcripts: [Transcript] = []
        for (title, blocks) in blocks.byHeading {
            var transcript = Transcript(title: title, exchanges: [])
            var request: [UInt8]?
            for block in blocks {
                switch block.kind {
                case "hex request", "http request":
                    guard request == nil else {
                        throw Mistake(description: "no response: \(title)")
                    }
                    request =
                        try block.kind == "hex request"
                        ? hexRequest(block.lines) : HTTPPattern.bytes(block.lines)
                case "hex response", "http response":
                    guard let sent = request else {
                        throw Mistake(description: "no request: \(title)")
                    }
                    request = nil
                    let expected: Expected =
                        try block.kind == "hex response"
                        ? .binary(BytePattern(block.lines)) : .http(HTTPPattern(block.lines))
                    transcript.exchanges.append(Exchange(request: sent, response: expected))
                default: break
                }
            }
            guard request == nil else { throw Mistake(description: "no response: \(title)") }
            if !transcript.exchanges.isEmpty { transcripts.append(transcript) }
        }
        return transcripts
    }

    private static func hexRequest(_ lines: [String]) throws(Mistake) -> [UInt8] {
        let pattern = try BytePattern(lines)
        let bytes = pattern.bytes.compactMap { $0 }
        guard bytes.count == pattern.bytes.count, !pattern.isOpen else {
            throw Mistake(description: "a request has unknown bytes: \(lines)")
        }
        return bytes
    }
}

/// Bytes of which some may have any value.
public struct BytePattern: Sendable {
    /// The bytes; nil: any value.
    public var bytes: [UInt8?] = []
    /// Whether more may follow, as many as the frame's header says.
    public var isOpen = false

    /// Reads the lines of a `hex` block.
    init(_ lines: [String]) throws(Transcript.Mistake) {
        for line in lines {
            var rest = Substring(line)
            while let first = rest.first {
                if first == " " {
                    rest = rest.dropFirst()
                } else if first == "#" {
                    break
                } else if first == "\"" {
                    rest = try text(rest.dropFirst())
                } else {
                    let word = rest.prefix { $0 != " " && $0 != "#" && $0 != "\"" }
                    rest = rest.dropFirst(word.count)
                    try self.word(word)
                }
            }
        }
    }

    /// Whether `response`, one whole frame, is what the pattern says.
    public func matches(_ response: [UInt8]) -> Bool {
        guard isOpen ? response.count >= bytes.count : response.count == bytes.count else {
            return false
        }
        return zip(bytes, response).allSatisfy { $0 == nil || $0 == $1 }
    }

    /// The bytes with `filler` for those of any value.
    public func filled(with filler: UInt8 = 0) -> [UInt8] {
        bytes.map { $0 ?? filler }
    }

    private mutating func word(_ word: Substring) throws(Transcript.Mistake) {
        guard !isOpen else { throw Transcript.Mistake(description: "\(word) follows ...") }
        if word == "..." {
            isOpen = true
            return
        }
        let halves = word.split(separator: "*", omittingEmptySubsequences: false)
        let count = halves.count == 2 ? Int(halves[1]) : 1
        let byte: UInt8? = halves[0] == ".." ? nil : UInt8(halves[0], radix: 16)
        guard halves.count <= 2, let count, halves[0].count == 2, byte != nil || halves[0] == ".."
        else { throw Transcript.Mistake(description: "\(word) is not a byte") }
        bytes += repeatElement(byte, count: count)
    }

    /// Reads a text up to its closing quote; returns what follows.
    private mutating func text(_ start: Substring) throws(Transcript.Mistake) -> Substring {
        var rest = start
        while let character = rest.popFirst() {
            if character == "\"" { return rest }
            guard character == "\\" else {
                bytes += Array(String(character).utf8).map(Optional.some)
                continue
            }
            switch rest.popFirst() {
            case "n": bytes.append(0x0A)
            case "r": bytes.append(0x0D)
            case "\"": bytes.append(UInt8(ascii: "\""))
            case "\\": bytes.append(UInt8(ascii: "\\"))
            default: throw Transcript.Mistake(description: "unknown escape before \(rest)")
            }
        }
        throw Transcript.Mistake(description: "a text without end: \(start)")
    }
}

/// An HTTP response of which some parts may be anything.
public struct HTTPPattern: Sendable {
    /// The first line, word by word as it must be.
    public var statusLine: String
    /// The fields that must be there, in any order; `...` in a value is any text.
    public var fields: [(name: String, value: String)] = []
    /// The body; nil: any.
    public var body: String?

    /// Reads the lines of an `http response` block.
    init(_ lines: [String]) throws(Transcript.Mistake) {
        guard let first = lines.first else { throw Transcript.Mistake(description: "empty block") }
        statusLine = first
        let head = lines.prefix { !$0.isEmpty }
        for line in head.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else {
                throw Transcript.Mistake(description: "\(line) is not a field line")
            }
            fields.append((String(line[..<colon]), String(line[colon...].dropFirst(2))))
        }
        let text = lines.dropFirst(head.count + 1).joined(separator: "\r\n")
        body = text == "..." ? nil : text
    }

    /// The bytes of a block without unknown parts, as they are sent.
    static func bytes(_ lines: [String]) -> [UInt8] {
        let head = lines.prefix { !$0.isEmpty }
        let body = lines.dropFirst(head.count + 1)
        let text =
            head.joined(separator: "\r\n") + "\r\n\r\n" + body.joined(separator: "\r\n")
        return Array(text.utf8)
    }

    /// What is wrong with a response, or nil when it is what the pattern says.
    public func fault(statusLine: String, fields: [(name: String, value: String)], body: [UInt8])
        -> String?
    {
        guard statusLine == self.statusLine else { return "\(statusLine), not \(self.statusLine)" }
        for (name, value) in self.fields {
            let found = fields.filter { $0.name.lowercased() == name.lowercased() }
            guard found.contains(where: { Self.matches($0.value, value) }) else {
                return "\(name) is \(found.map(\.value)), not \(value)"
            }
        }
        if let expected = self.body, body != Array(expected.utf8) {
            return "the body is \(String(decoding: body, as: UTF8.self)), not \(expected)"
        }
        return nil
    }

    private static func matches(_ text: String, _ pattern: String) -> Bool {
        guard pattern.hasSuffix("...") else { return text == pattern }
        return text.hasPrefix(pattern.dropLast(3))
    }
}
