import BlobJSON
import BlobProtocol
import Bytes

/// An object of a document that is being read. Each call throws `bad_document` for a value of another type.
struct JSONObject {
    private let members: [JSONMember]
    private let thing: String

    init(_ value: JSONValue, _ thing: String) throws(ProtocolError) {
        guard case .object(let members) = value else {
            throw .wrongType(thing, "an object", value)
        }
        self.members = members
        self.thing = thing
    }

    init(parsing bytes: RawSpan, _ thing: String) throws(ProtocolError) {
        var limits = JSONLimits()
        limits.byteCountMax = WireLimits.documentByteCountMax
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(bytes, limits: limits)
        } catch {
            throw ProtocolError(error)
        }
        try self.init(value, thing)
    }

    /// Refuses members that are not known, and those that are but cannot be changed here.
    func check(
        _ known: [StaticString], immutable: [StaticString] = []
    ) throws(ProtocolError) {
        for member in members {
            let name = member.name.utf8.span.bytes
            if known.contains(where: { name.equals($0) }) { continue }
            if immutable.contains(where: { name.equals($0) }) {
                throw ProtocolError(
                    .immutableMember, "the member \(member.name) cannot be changed by \(thing)")
            }
            let list = known.map(\.description).joined(separator: ", ")
            throw ProtocolError(
                .unknownMember,
                "unknown member \(name.excerpt()) of \(thing); known are \(list)")
        }
    }

    /// The value of a member; nil when it is absent or null.
    subscript(_ name: StaticString) -> JSONValue? {
        guard let value = given(name) else { return nil }
        if case .null = value { return nil }
        return value
    }

    /// The value of a member, null too; nil when it is absent.
    func given(_ name: StaticString) -> JSONValue? {
        for index in members.indices where members[index].name.utf8.span.bytes.equals(name) {
            return members[index].value
        }
        return nil
    }

    func text(_ name: StaticString) throws(ProtocolError) -> String? {
        guard let value = self[name] else { return nil }
        guard case .string(let text) = value else {
            throw .wrongType("\(name)", "a string", value)
        }
        return text
    }

    func required(_ name: StaticString) throws(ProtocolError) -> String {
        try require(try text(name), .badDocument, "\(thing) has no member \(name)")
    }

    func elements(
        _ name: StaticString, _ wanted: String = "an array"
    ) throws(ProtocolError) -> [JSONValue]? {
        guard let value = self[name] else { return nil }
        guard case .array(let elements) = value else {
            throw .wrongType("\(name)", wanted, value)
        }
        return elements
    }

    func flag(_ name: StaticString) throws(ProtocolError) -> Bool? {
        guard let value = self[name] else { return nil }
        guard case .bool(let flag) = value else {
            throw .wrongType("\(name)", "true or false", value)
        }
        return flag
    }

    /// A whole number, written without fraction and exponent. Throws `code` for another number.
    func number(
        _ name: StaticString, in bounds: ClosedRange<Int64>, _ code: ErrorCode
    ) throws(ProtocolError) -> Int64? {
        guard let value = self[name] else { return nil }
        guard case .number(let number) = value else {
            throw .wrongType("\(name)", "a number", value)
        }
        guard let integer = number.integer, bounds.contains(integer) else {
            throw ProtocolError(
                code,
                "\(name) is \(number.text.excerpt); it must be a whole number from \(bounds.lowerBound) to \(bounds.upperBound)",
                limit: Int(clamping: bounds.upperBound))
        }
        return integer
    }
}

extension ProtocolError {
    static func wrongType(
        _ name: String, _ wanted: String, _ value: JSONValue
    ) -> ProtocolError {
        let found =
            switch value {
            case .null: "null"
            case .bool: "true or false"
            case .number: "a number"
            case .string: "a string"
            case .array: "an array"
            case .object: "an object"
            }
        return ProtocolError(.badDocument, "\(name) is \(found); it must be \(wanted)")
    }

    init(_ error: JSONError) {
        switch error.kind {
        case .syntax, .tooMany: self.init(.badJSON, error.description)
        case .notUTF8: self.init(.notUTF8, error.description)
        case .duplicateKey: self.init(.duplicateKey, error.description)
        case .tooDeep: self.init(.tooDeep, error.description)
        case .tooLong:
            self.init(
                .payloadTooLarge, error.description, limit: WireLimits.documentByteCountMax)
        }
    }
}
