/// A JSON value (RFC 8259) as it was written: numbers keep their text, objects the order of their
/// members.
public indirect enum JSONValue: Sendable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number, as it was written.
    case number(JSONNumber)
    /// A string, without its escapes.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object. No two members have the same name.
    case object([JSONMember])
}

/// A member of an object.
public struct JSONMember: Sendable, Hashable {
    /// Its name, without escapes.
    public var name: String
    /// Its value.
    public var value: JSONValue

    /// A member.
    public init(_ name: String, _ value: JSONValue) {
        self.name = name
        self.value = value
    }

    /// By the bytes of the name: String takes texts for equal whose bytes are not.
    public static func == (left: JSONMember, right: JSONMember) -> Bool {
        left.name.utf8.elementsEqual(right.name.utf8) && left.value == right.value
    }
}

/// A number, as its text: what a double cannot hold stays as it is.
public struct JSONNumber: Sendable, Hashable {
    /// The text, which keeps to the grammar of RFC 8259, section 6.
    public let text: String

    /// A number whose text has been checked.
    init(checked text: String) { self.text = text }

    /// A whole number.
    public init(_ value: Int64) { text = String(value) }

    /// Its value when it is written without fraction and exponent and 64 bits hold it; else nil.
    public var integer: Int64? { Int64(text) }
}

/// Why a text is not taken.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    public enum Kind: Sendable, Hashable {
        /// It is not JSON.
        case syntax
        /// It is not UTF-8.
        case notUTF8
        /// An object has two members of one name.
        case duplicateKey
        /// Arrays and objects are within each other deeper than the limit.
        case tooDeep
        /// It has more bytes than the limit.
        case tooLong
        /// It has more members and elements than the limit.
        case tooMany
    }

    /// What is wrong.
    public let kind: Kind
    /// Where, in bytes from the start.
    public let offset: Int
    /// One sentence for people: names the thing and the limit.
    public let description: String
}

/// What a parser takes at the most.
public struct JSONLimits: Sendable, Hashable {
    /// Bytes of the text.
    public var byteCountMax = 65_536
    /// Arrays and objects within each other.
    public var depthMax = 64
    /// Members of all objects and elements of all arrays together.
    public var memberCountMax = 8_192

    /// The defaults.
    public init() {}
}

/// One minified JSON value that has been checked, as bytes.
public struct JSONFragment: Sendable, Hashable {
    /// Its UTF-8.
    public let bytes: [UInt8]

    /// A value, minified.
    public init(_ value: JSONValue) {
        var bytes: [UInt8] = []
        value.append(to: &bytes)
        self.bytes = bytes
    }

    /// Bytes that were a fragment's before.
    public init(checked bytes: [UInt8]) { self.bytes = bytes }

    /// The value. Throws only when the bytes were never a fragment's.
    public func value() throws(JSONError) -> JSONValue { try .parse(bytes.span.bytes) }
}
