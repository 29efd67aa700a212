import BlobJSON
import TestSupport

/// What comes of a text: the value minified, or what is wrong.
enum Parsed: Equatable {
    case text(String)
    case refused(JSONError.Kind)
}

/// Parses bytes.
func parsed(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) -> Parsed {
    do throws(JSONError) {
        return .text(minified(try JSONValue.parse(bytes.span.bytes, limits: limits)))
    } catch {
        return .refused(error.kind)
    }
}

/// Parses a text.
func parsed(_ text: String, limits: JSONLimits = JSONLimits()) -> Parsed {
    parsed(Array(text.utf8), limits: limits)
}

/// The value of a text that is known to be good.
func value(_ text: String) throws -> JSONValue {
    try JSONValue.parse(Array(text.utf8).span.bytes)
}

/// The text that is composed of a value.
func minified(_ value: JSONValue) -> String {
    var out: [UInt8] = []
    value.append(to: &out)
    return String(decoding: out, as: UTF8.self)
}

/// A random value, at most `depth` levels deep.
func randomValue(depth: Int, using generator: inout SeededGenerator) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &generator) {
    case 0: return .null
    case 1: return .bool(.random(using: &generator))
    case 2: return .number(JSONNumber(.random(in: .min ... .max, using: &generator)))
    case 3, 4: return .string(randomText(using: &generator))
    case 5:
        return .array(
            (0..<Int.random(in: 0..<5, using: &generator)).map { _ in
                randomValue(depth: depth - 1, using: &generator)
            })
    default:
        var members: [JSONMember] = []
        // More than eight members are looked up otherwise than fewer.
        for index in 0..<Int.random(in: 0..<14, using: &generator) {
            let name = "\(index)" + randomText(using: &generator)
            members.append(JSONMember(name, randomValue(depth: depth - 1, using: &generator)))
        }
        return .object(members)
    }
}

private func randomText(using generator: inout SeededGenerator) -> String {
    let alphabet: [Unicode.Scalar] = [
        "a", "b", "\"", "\\", "/", "\u{0}", "\u{8}", "\u{9}", "\u{A}", "\u{C}", "\u{D}", "\u{1F}",
        "\u{7F}", "é", "e", "\u{301}", "\u{2028}", "\u{FFFF}", "𝄞",
    ]
    var text = ""
    for _ in 0..<Int.random(in: 0..<6, using: &generator) {
        text.unicodeScalars.append(alphabet.randomElement(using: &generator) ?? "a")
    }
    return text
}
