/// An element of an answer. Names are without their namespace's prefix, attributes are left out.
struct XMLElement: Equatable {
    var name: String
    var text = ""
    var children: [XMLElement] = []

    subscript(name: String) -> XMLElement? { children.first { $0.name == name } }

    func text(of name: String) -> String? { self[name]?.text }

    /// Reads a whole document: what S3's servers write, and nothing that XML has besides (no document types, no CDATA).
    ///
    /// - Returns: nil for anything else, and past the limits of depth and number.
    static func parse(_ bytes: [UInt8]) -> XMLElement? {
        var parser = XMLParser(bytes: bytes)
        return parser.document()
    }
}

/// Reads elements, texts, comments and processing instructions. It never looks outside of `bytes`, and goes forward only.
private struct XMLParser {
    let bytes: [UInt8]
    var index = 0
    var elementCount = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
        // UTF-8's byte order mark.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    }

    mutating func document() -> XMLElement? {
        guard skipMisc(), peek() == UInt8(ascii: "<"), let root = element(depth: 1), skipMisc(),
            index == bytes.count
        else { return nil }
        return root
    }

    private func peek(_ offset: Int = 0) -> UInt8? {
        index + offset < bytes.count ? bytes[index + offset] : nil
    }

    private mutating func take(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard bytes.count - index >= count else { return false }
        let isSame = text.withUTF8Buffer { $0.elementsEqual(bytes[index..<index + count]) }
        if isSame { index += count }
        return isSame
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    private mutating func skipBlanks() {
        while let byte = peek(), Self.isBlank(byte) { index += 1 }
    }

    private mutating func skip(past end: StaticString) -> Bool {
        while index < bytes.count {
            if take(end) { return true }
            index += 1
        }
        return false
    }

    /// Comments, processing instructions and blanks around the root; false for one that does not end.
    private mutating func skipMisc() -> Bool {
        while true {
            skipBlanks()
            if take("<?") {
                guard skip(past: "?>") else { return false }
            } else if take("<!--") {
                guard skip(past: "-->") else { return false }
            } else {
                return true
            }
        }
    }

    private mutating func name() -> String? {
        let start = index
        while let byte = peek(), Self.isName(byte) { index += 1 }
        guard index > start, Self.isNameStart(bytes[start]) else { return nil }
        let whole = bytes[start..<index]
        let local = whole.lastIndex(of: UInt8(ascii: ":")).map { whole[($0 + 1)...] } ?? whole
        return local.isEmpty ? nil : String(decoding: local, as: UTF8.self)
    }

    private static func isNameStart(_ byte: UInt8) -> Bool {
        (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
            || byte == UInt8(ascii: "_")
    }

    private static func isName(_ byte: UInt8) -> Bool {
        isNameStart(byte) || (byte >= 0x30 && byte <= 0x3A) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }

    private mutating func element(depth: Int) -> XMLElement? {
        elementCount += 1
        let start = index + 1
        guard depth <= ObjectStoreLimits.xmlDepthMax,
            elementCount <= ObjectStoreLimits.xmlElementCountMax, take("<"), let name = name()
        else { return nil }
        let wholeName = bytes[start..<index]
        guard skipAttributes() else { return nil }
        var element = XMLElement(name: name)
        if take("/>") { return element }
        guard take(">") else { return nil }
        var text: [UInt8] = []
        while let byte = peek() {
            if byte == UInt8(ascii: "&") {
                guard entity(into: &text) else { return nil }
            } else if byte != UInt8(ascii: "<") {
                text.append(byte)
                index += 1
            } else if take("</") {
                guard bytes[index...].starts(with: wholeName) else { return nil }
                index += wholeName.count
                skipBlanks()
                guard take(">"), let valid = String(validating: text, as: UTF8.self) else {
                    return nil
                }
                element.text = valid
                return element
            } else if take("<!--") {
                guard skip(past: "-->") else { return nil }
            } else {
                guard let child = self.element(depth: depth + 1) else { return nil }
                element.children.append(child)
            }
        }
        return nil
    }

    /// Moves to the end of a start tag; false where something is no attribute.
    private mutating func skipAttributes() -> Bool {
        while true {
            let before = index
            skipBlanks()
            if peek() == UInt8(ascii: ">") || (peek() == UInt8(ascii: "/")) { return true }
            guard index > before, name() != nil else { return false }
            skipBlanks()
            guard take("=") else { return false }
            skipBlanks()
            guard let quote = peek(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
            else { return false }
            index += 1
            while let byte = peek(), byte != quote {
                if byte == UInt8(ascii: "<") { return false }
                index += 1
            }
            guard peek() == quote else { return false }
            index += 1
        }
    }

    private mutating func entity(into text: inout [UInt8]) -> Bool {
        let named: [(StaticString, Character)] = [
            ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"), ("&quot;", "\""), ("&apos;", "'"),
        ]
        for (name, character) in named where take(name) {
            text.append(contentsOf: String(character).utf8)
            return true
        }
        if take("&#x") { return number(radix: 16, into: &text) }
        return take("&#") && number(radix: 10, into: &text)
    }

    private mutating func number(radix: UInt32, into text: inout [UInt8]) -> Bool {
        var value: UInt32 = 0
        let start = index
        while let byte = peek(), let digit = Character(UnicodeScalar(byte)).hexDigitValue,
            digit < radix, index - start < 7
        {
            value = value * radix + UInt32(digit)
            index += 1
        }
        guard index > start, take(";"), let scalar = UnicodeScalar(value) else { return false }
        text.append(contentsOf: Array(String(Character(scalar)).utf8))
        return true
    }
}
