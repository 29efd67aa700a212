import Bytes

extension JSONParser {
    mutating func string(_ bytes: RawSpan) throws(JSONError) -> String {
        index += 1
        var start = index
        // Most strings have no escapes, and are made from the bytes in place.
        var unescaped: [UInt8] = []
        while true {
            skipPlain(bytes)
            switch peek(bytes) {
            case UInt8(ascii: "\""):
                let end = index
                index += 1
                guard !unescaped.isEmpty else { return bytes.extracting(start..<end).text() }
                unescaped.append(contentsOf: bytes.extracting(start..<end))
                return String(decoding: unescaped, as: UTF8.self)
            case UInt8(ascii: "\\"):
                unescaped.append(contentsOf: bytes.extracting(start..<index))
                try escape(bytes, to: &unescaped)
                start = index
            case nil: throw wrong(bytes, "unterminated string")
            default: throw wrong(bytes, "a control character in a string must be escaped")
            }
        }
    }

    private mutating func skipPlain(_ bytes: RawSpan) {
        var end = bytes.end(from: index) { bytes in
            // Control characters, quotes and backslashes. Before the first of them, no difference borrows.
            let control = (bytes &- 0x20) & ~bytes
            let quote = bytes ^ 0x22
            let backslash = bytes ^ 0x5C
            return control | (quote &- 1) & ~quote | (backslash &- 1) & ~backslash
        }
        while end < bytes.byteCount {
            let byte = bytes.byte(end)
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            end &+= 1
        }
        index = end
    }

    private mutating func escape(
        _ bytes: RawSpan, to out: inout [UInt8]
    ) throws(JSONError) {
        index += 1
        switch peek(bytes) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
            out.append(bytes.byte(index))
        case UInt8(ascii: "b"): out.append(0x08)
        case UInt8(ascii: "f"): out.append(0x0C)
        case UInt8(ascii: "n"): out.append(0x0A)
        case UInt8(ascii: "r"): out.append(0x0D)
        case UInt8(ascii: "t"): out.append(0x09)
        case UInt8(ascii: "u"):
            index += 1
            out.append(contentsOf: try scalar(bytes).utf8)
            return
        case nil: throw wrong(bytes, "unterminated string")
        default: throw wrong(bytes, "unknown escape")
        }
        index += 1
    }

    /// Four digits after `\u` and, for half of a surrogate pair, the escape of the other half.
    private mutating func scalar(_ bytes: RawSpan) throws(JSONError) -> Unicode.Scalar {
        let start = index
        let first = try unit(bytes)
        // Half of a pair is not a scalar.
        if let scalar = Unicode.Scalar(first) { return scalar }
        if first & 0xFC00 == 0xD800, peek(bytes) == UInt8(ascii: "\\") {
            index += 1
            if peek(bytes) == UInt8(ascii: "u") {
                index += 1
                let second = try unit(bytes)
                let both = 0x10000 + (first & 0x3FF) << 10 + second & 0x3FF
                if second & 0xFC00 == 0xDC00, let scalar = Unicode.Scalar(both) { return scalar }
            }
        }
        index = start
        throw wrong(bytes, "unpaired surrogate")
    }

    private mutating func unit(_ bytes: RawSpan) throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            let digit: UInt8
            switch peek(bytes) {
            case let byte? where byte >= 0x30 && byte <= 0x39: digit = byte - 0x30
            case let byte? where byte | 0x20 >= 0x61 && byte | 0x20 <= 0x66:
                digit = byte | 0x20 - 0x61 + 10
            default: throw wrong(bytes, "four hexadecimal digits are expected after \\u")
            }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }

    mutating func number(_ bytes: RawSpan) throws(JSONError) -> JSONNumber {
        let start = index
        if peek(bytes) == UInt8(ascii: "-") { index += 1 }
        if peek(bytes) == UInt8(ascii: "0") {
            index += 1
            if isDigit(bytes) { throw wrong(bytes, "a number must not have leading zeros") }
        } else {
            try digits(bytes)
        }
        if peek(bytes) == UInt8(ascii: ".") {
            index += 1
            try digits(bytes)
        }
        if let byte = peek(bytes), byte | 0x20 == UInt8(ascii: "e") {
            index += 1
            if let sign = peek(bytes), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
                index += 1
            }
            try digits(bytes)
        }
        return JSONNumber(checked: bytes.extracting(start..<index).text())
    }

    private mutating func digits(_ bytes: RawSpan) throws(JSONError) {
        guard isDigit(bytes) else { throw wrong(bytes, "a number has no digit here") }
        while isDigit(bytes) { index += 1 }
    }

    private func isDigit(_ bytes: RawSpan) -> Bool {
        guard let byte = peek(bytes) else { return false }
        return byte >= 0x30 && byte <= 0x39
    }
}
