import Bytes

extension JSONValue {
    /// Parses one value, surrounded by optional blanks (RFC 8259). Throws the first error with its position. Length and
    /// UTF-8 are checked first.
    public static func parse(
        _ bytes: RawSpan, limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> JSONValue {
        guard bytes.byteCount <= limits.byteCountMax else {
            throw JSONError(
                kind: .tooLong, offset: limits.byteCountMax,
                description:
                    "the JSON is \(bytes.byteCount) bytes long; the limit is \(limits.byteCountMax)"
            )
        }
        do throws(Unicode.UTF8.ValidationError) {
            _ = try UTF8Span(validating: Span<UInt8>(_bytes: bytes))
        } catch {
            let offset = error.byteOffsets.lowerBound
            throw JSONError(
                kind: .notUTF8, offset: offset,
                description: "the JSON is not valid UTF-8 at byte \(offset)")
        }
        var parser = JSONParser(limits)
        parser.skipBlanks(bytes)
        let value = try parser.value(bytes)
        parser.skipBlanks(bytes)
        guard parser.index == bytes.byteCount else {
            throw parser.wrong(bytes, "unexpected text after the value")
        }
        return value
    }
}

/// A position in a text that is being parsed: each method reads what begins at `index`. The text is valid UTF-8.
struct JSONParser {
    var index = 0
    private var depth = 0
    private var memberCount = 0
    private let depthMax: Int
    private let memberCountMax: Int

    private static let usualMemberCount = 8

    init(_ limits: JSONLimits) {
        depthMax = min(limits.depthMax, JSONLimits.depthLargest)
        memberCountMax = limits.memberCountMax
    }

    mutating func value(_ bytes: RawSpan) throws(JSONError) -> JSONValue {
        switch peek(bytes) {
        case UInt8(ascii: "{"): return .object(try object(bytes))
        case UInt8(ascii: "["): return .array(try array(bytes))
        case UInt8(ascii: "\""): return .string(try string(bytes))
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
            return .number(try number(bytes))
        case UInt8(ascii: "t"):
            try literal(bytes, "true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try literal(bytes, "false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try literal(bytes, "null")
            return .null
        default: throw wrong(bytes, "a value is expected")
        }
    }

    private mutating func object(_ bytes: RawSpan) throws(JSONError) -> [JSONMember] {
        try enter()
        var members: [JSONMember] = []
        var indexes = MemberIndexes()
        index += 1
        skipBlanks(bytes)
        while peek(bytes) != UInt8(ascii: "}") || !members.isEmpty {
            let start = index
            guard peek(bytes) == UInt8(ascii: "\"") else {
                throw wrong(bytes, "a member's name in quotes is expected")
            }
            let name = try string(bytes)
            guard indexes.find(name, in: members) == nil else {
                throw JSONError(
                    kind: .duplicateKey, offset: start,
                    description: "duplicate key \(Self.excerpt(name)) at byte \(start)")
            }
            skipBlanks(bytes)
            guard peek(bytes) == UInt8(ascii: ":") else {
                throw wrong(bytes, "a colon is expected after a member's name")
            }
            index += 1
            skipBlanks(bytes)
            try count()
            // Most objects have a few members; growing one by one would move them each time.
            if members.isEmpty { members.reserveCapacity(Self.usualMemberCount) }
            members.append(JSONMember(name, try value(bytes)))
            guard try continues(bytes, until: UInt8(ascii: "}"), "a comma or } is expected") else {
                break
            }
        }
        leave()
        return members
    }

    private mutating func array(_ bytes: RawSpan) throws(JSONError) -> [JSONValue] {
        try enter()
        var elements: [JSONValue] = []
        index += 1
        skipBlanks(bytes)
        while peek(bytes) != UInt8(ascii: "]") || !elements.isEmpty {
            try count()
            elements.append(try value(bytes))
            guard try continues(bytes, until: UInt8(ascii: "]"), "a comma or ] is expected") else {
                break
            }
        }
        leave()
        return elements
    }

    /// Moves past a comma and the blanks around it; false at the closing bracket.
    private mutating func continues(
        _ bytes: RawSpan, until bracket: UInt8, _ expectation: String
    ) throws(JSONError) -> Bool {
        skipBlanks(bytes)
        if peek(bytes) == bracket { return false }
        guard peek(bytes) == UInt8(ascii: ",") else { throw wrong(bytes, expectation) }
        index += 1
        skipBlanks(bytes)
        return true
    }

    private mutating func literal(_ bytes: RawSpan, _ word: StaticString) throws(JSONError) {
        for offset in 0..<word.utf8CodeUnitCount {
            guard peek(bytes) == word.withUTF8Buffer({ $0[offset] }) else {
                throw wrong(bytes, "a value is expected; \(word) is not written like this")
            }
            index += 1
        }
    }

    private mutating func enter() throws(JSONError) {
        depth += 1
        guard depth <= depthMax else {
            throw over(.tooDeep, "nested deeper than \(depthMax) levels")
        }
    }

    private mutating func leave() {
        depth -= 1
        index += 1
    }

    private mutating func count() throws(JSONError) {
        memberCount += 1
        guard memberCount <= memberCountMax else {
            throw over(.tooMany, "more than \(memberCountMax) members and elements")
        }
    }

    private func over(_ kind: JSONError.Kind, _ words: String) -> JSONError {
        JSONError(kind: kind, offset: index, description: "\(words) at byte \(index)")
    }

    @inline(__always)
    func peek(_ bytes: RawSpan) -> UInt8? {
        index < bytes.byteCount ? bytes.byte(index) : nil
    }

    mutating func skipBlanks(_ bytes: RawSpan) {
        while index < bytes.byteCount {
            switch bytes.byte(index) {
            case 0x20, 0x09, 0x0A, 0x0D: index += 1
            default: return
            }
        }
    }

    /// The error for a text that violates the grammar at `index`.
    func wrong(_ bytes: RawSpan, _ what: String) -> JSONError {
        let place = index < bytes.byteCount ? "at byte \(index)" : "at the end, byte \(index)"
        return JSONError(kind: .syntax, offset: index, description: "\(what) \(place)")
    }

    private static func excerpt(_ name: String) -> String {
        let byteCountMax = 64
        guard name.utf8.count > byteCountMax else { return "\"\(name)\"" }
        return "\"\(String(decoding: name.utf8.prefix(byteCountMax), as: UTF8.self))…\""
    }
}

/// Why a text was refused.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of an error.
    public enum Kind: Sendable, Hashable {
        /// It is not JSON.
        case syntax
        /// It is not UTF-8.
        case notUTF8
        /// An object has two members with the same name.
        case duplicateKey
        /// Arrays and objects are nested deeper than the limit.
        case tooDeep
        /// It has more bytes than the limit.
        case tooLong
        /// It has more members and elements than the limit.
        case tooMany
    }

    /// The kind of the error.
    public let kind: Kind
    /// The byte offset of the error.
    public let offset: Int
    /// One sentence for display, with the limit that was exceeded.
    public let description: String
}

/// The limits of a parser.
public struct JSONLimits: Sendable, Hashable {
    /// The highest effective `depthMax`.
    static let depthLargest = 64

    /// The most bytes of a text.
    public var byteCountMax = 65_536
    /// The deepest nesting. More than 64 counts as 64, because values are walked recursively.
    public var depthMax = JSONLimits.depthLargest
    /// The most members of all objects and elements of all arrays together.
    public var memberCountMax = 8_192

    /// Creates the default limits.
    public init() {}
}
