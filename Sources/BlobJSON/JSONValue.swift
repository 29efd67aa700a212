import Bytes

/// A JSON value (RFC 8259). Numbers keep their text, and objects the order of their members.
public enum JSONValue: Sendable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number, as written.
    case number(JSONNumber)
    /// A string, without its escapes.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object. No two members have the same name.
    case object([JSONMember])
}

/// A member of an object.
public struct JSONMember: Sendable {
    /// Its name, without escapes.
    public var name: String
    /// Its value.
    public var value: JSONValue

    /// Creates a member.
    public init(_ name: String, _ value: JSONValue) {
        self.name = name
        self.value = value
    }

    func isNamed(_ name: String) -> Bool { self.name.isSame(as: name) }
}

/// A number as text, so that one that a double cannot represent is not rounded.
public struct JSONNumber: Sendable, Hashable {
    /// Numbers are compared by their text: `1` and `1.0` are not equal.
    public let text: String

    init(checked text: String) { self.text = text }

    /// Creates a whole number.
    public init(_ value: Int64) { text = String(value) }

    /// Its value, however a whole number is written: `60`, `60.0`, `6e1`. nil if it has a fraction, or does not fit
    /// into 64 bits.
    public var integer: Int64? { integer(as: Int64.self) }

    /// Like ``integer``, of another type.
    public func integer<Number: FixedWidthInteger>(as type: Number.Type) -> Number? {
        if let number = Number(text) { return number }
        let parts = text.split { $0 == "e" || $0 == "E" }
        let digits = parts[0].split(separator: ".")
        let fraction = digits.count > 1 ? digits[1] : ""
        let isNegative = text.hasPrefix("-")
        var whole = (digits[0] + fraction).drop { $0 == "-" || $0 == "0" }
        // The number is `whole` times this power of ten.
        guard !whole.isEmpty else { return 0 }
        guard parts.count == 1 || Int(parts[1]) != nil else { return nil }
        var (power, isOver) = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
            .subtractingReportingOverflow(fraction.count)
        while whole.last == "0", power < 0 {
            whole.removeLast()
            power += 1
        }
        // No type has as many digits.
        isOver = isOver || power < 0 || power > 40 || whole.count > 40
        guard !isOver else { return nil }
        return Number((isNegative ? "-" : "") + whole + String(repeating: "0", count: power))
    }
}

extension JSONValue {
    /// The member with this name, compared by bytes; nil if there is none.
    public subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.isNamed(name) }?.value
    }
}

extension JSONValue {
    /// Appends the value without blanks. Strings only escape `"`, `\` and U+0000 to U+001F.
    public func append(to out: inout [UInt8]) {
        switch self {
        case .null: out.append("null")
        case .bool(true): out.append("true")
        case .bool(false): out.append("false")
        case .number(let number): out.append(text: number.text)
        case .string(let text): JSONText.append(text, to: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                element.append(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                JSONText.append(member.name, to: &out)
                out.append(UInt8(ascii: ":"))
                member.value.append(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }
}

extension JSONValue: Hashable {
    /// Compares the serialized bytes: members and elements in order, numbers as text. `String` would compare by
    /// canonical equivalence.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        JSONFragment(left) == JSONFragment(right)
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(JSONFragment(self)) }
}

extension JSONMember: Hashable {
    /// Compares names and values by bytes.
    public static func == (left: JSONMember, right: JSONMember) -> Bool {
        JSONValue.object([left]) == .object([right])
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(JSONValue.object([self])) }
}

/// One valid, minified JSON value, as bytes.
public struct JSONFragment: Sendable, Hashable {
    /// Its UTF-8.
    public let bytes: [UInt8]

    /// Creates a fragment from a value.
    public init(_ value: JSONValue) {
        var bytes: [UInt8] = []
        value.append(to: &bytes)
        self.bytes = bytes
    }

    /// Takes bytes that come from another fragment.
    public init(checked bytes: [UInt8]) { self.bytes = bytes }

    /// The parsed value. Throws only if the bytes do not come from a fragment, or it was nested deeper than 64 levels.
    public func value() throws(JSONError) -> JSONValue {
        var limits = JSONLimits()
        limits.byteCountMax = .max
        limits.memberCountMax = .max
        return try .parse(bytes.span.bytes, limits: limits)
    }
}
