package import BlobJSON
import Bytes
package import Notifications

/// An object of a document being read. Each call throws `bad_document` for a value of another type.
package struct DocumentObject {
    private let members: [JSONMember]
    private let thing: String

    package init(_ value: JSONValue, _ thing: String) throws(ProtocolError) {
        guard case .object(let members) = value else {
            throw .wrongType(thing, "an object", value)
        }
        self.members = members
        self.thing = thing
    }

    /// - Parameter limits: nil: the limits of documents that the daemon reads.
    package init(
        parsing bytes: RawSpan, _ thing: String, limits: JSONLimits? = nil
    ) throws(ProtocolError) {
        var usual = JSONLimits()
        usual.byteCountMax = WireLimits.documentByteCountMax
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(bytes, limits: limits ?? usual)
        } catch {
            throw ProtocolError(error)
        }
        try self.init(value, thing)
    }

    /// Refuses unknown members, and known ones that cannot be changed here.
    package func check(
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

    /// The value of a member; nil if it is absent or null.
    package subscript(_ name: StaticString) -> JSONValue? {
        guard let value = given(name) else { return nil }
        if case .null = value { return nil }
        return value
    }

    /// The value of a member, which may be null; nil if it is absent.
    package func given(_ name: StaticString) -> JSONValue? {
        for index in members.indices where members[index].name.utf8.span.bytes.equals(name) {
            return members[index].value
        }
        return nil
    }

    package func text(_ name: StaticString) throws(ProtocolError) -> String? {
        guard let value = self[name] else { return nil }
        guard case .string(let text) = value else {
            throw .wrongType("\(name)", "a string", value)
        }
        return text
    }

    package func required(_ name: StaticString) throws(ProtocolError) -> String {
        try required(name, try text(name))
    }

    package func required<Value>(
        _ name: StaticString, _ value: Value?
    ) throws(ProtocolError) -> Value {
        try require(value, .badDocument, "\(thing) has no member \(name)")
    }

    package func elements(
        _ name: StaticString, _ wanted: String = "an array"
    ) throws(ProtocolError) -> [JSONValue]? {
        guard let value = self[name] else { return nil }
        guard case .array(let elements) = value else {
            throw .wrongType("\(name)", wanted, value)
        }
        return elements
    }

    package func flag(_ name: StaticString) throws(ProtocolError) -> Bool? {
        guard let value = self[name] else { return nil }
        guard case .bool(let flag) = value else {
            throw .wrongType("\(name)", "true or false", value)
        }
        return flag
    }

    /// A whole number (``JSONNumber/integer``). Throws `code` for another number.
    /// - Parameter setting: what sets the upper bound; nil: it is fixed.
    package func number(
        _ name: StaticString, in bounds: ClosedRange<Int64>, _ code: ErrorCode,
        setting: StaticString? = nil
    ) throws(ProtocolError) -> Int64? {
        guard let value = self[name] else { return nil }
        guard case .number(let number) = value else {
            throw .wrongType("\(name)", "a number", value)
        }
        guard let integer = number.integer, bounds.contains(integer) else {
            throw ProtocolError(
                code, "\(name) is \(number.text.excerpt)", outside: bounds, setting: setting)
        }
        return integer
    }

    package func integer<Number: FixedWidthInteger>(
        _ name: StaticString
    ) throws(ProtocolError) -> Number? {
        guard let value = self[name] else { return nil }
        guard case .number(let number) = value, let integer = number.integer(as: Number.self)
        else {
            throw .wrongType("\(name)", "a whole number", value)
        }
        return integer
    }

    package func required<Number: FixedWidthInteger>(
        _ name: StaticString
    ) throws(ProtocolError) -> Number {
        try required(name, try integer(name))
    }

    package func choice<Value: NamedValue>(
        _ name: StaticString
    ) throws(ProtocolError) -> Value? {
        guard let text = try text(name) else { return nil }
        return try require(
            Value(name: text), .badDocument, "\(name) is \(text.excerpt); it must be a known value")
    }

    package func texts(_ name: StaticString) throws(ProtocolError) -> [String]? {
        guard let elements = try elements(name, "an array of strings") else { return nil }
        var texts: [String] = []
        for element in elements {
            guard case .string(let text) = element else {
                throw .wrongType("\(name)[\(texts.count)]", "a string", element)
            }
            texts.append(text)
        }
        return texts
    }

    /// The members of an object, all of which are texts.
    package func textMembers(
        _ name: StaticString
    ) throws(ProtocolError) -> [(name: String, value: String)] {
        let value = try required(name, self[name])
        var texts: [(name: String, value: String)] = []
        for member in try DocumentObject(value, "\(name)").members {
            guard case .string(let text) = member.value else {
                throw .wrongType("\(name).\(member.name)", "a string", member.value)
            }
            texts.append((member.name, text))
        }
        return texts
    }

    package func object<Value>(
        _ name: StaticString, _ read: (DocumentObject) throws(ProtocolError) -> Value
    ) throws(ProtocolError) -> Value? {
        guard let value = self[name] else { return nil }
        return try read(DocumentObject(value, "\(name)"))
    }

    package func objects<Value>(
        _ name: StaticString, _ read: (DocumentObject) throws(ProtocolError) -> Value
    ) throws(ProtocolError) -> [Value]? {
        guard let elements = try elements(name) else { return nil }
        var values: [Value] = []
        values.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            values.append(try read(DocumentObject(element, "\(name)[\(index)]")))
        }
        return values
    }

    package func requiredObjects<Value>(
        _ name: StaticString, _ read: (DocumentObject) throws(ProtocolError) -> Value
    ) throws(ProtocolError) -> [Value] {
        try required(name, try objects(name, read))
    }
}

extension NotificationAction {
    private static let members: [StaticString] = [
        "identifier", "title", "foreground", "destructive", "authentication_required",
    ]

    /// The actions of a list, which errors call `thing`. Unknown members are refused.
    package static func list(
        _ elements: [JSONValue], _ thing: String
    ) throws(ProtocolError) -> [NotificationAction] {
        var actions: [NotificationAction] = []
        for (index, element) in elements.enumerated() {
            let object = try DocumentObject(element, "\(thing)[\(index)]")
            try object.check(members)
            actions.append(try NotificationAction(object))
        }
        return actions
    }

    /// Absent flags are false.
    package init(_ object: DocumentObject) throws(ProtocolError) {
        self.init(
            identifier: try object.required("identifier"), title: try object.required("title"),
            isForeground: try object.flag("foreground") ?? false,
            isDestructive: try object.flag("destructive") ?? false,
            requiresAuthentication: try object.flag("authentication_required") ?? false)
    }
}

extension ProtocolError {
    /// For a number that is none, or outside its bounds. `found` says which it is.
    package init(
        _ code: ErrorCode, _ found: String, outside bounds: ClosedRange<Int64>,
        setting: StaticString? = nil
    ) {
        self.init(
            code,
            "\(found); it must be a whole number from \(bounds.lowerBound) to \(bounds.upperBound)\(setting.map { " (\($0))" } ?? "")",
            limit: Int(clamping: bounds.upperBound))
    }

    package static func wrongType(
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

    package init(_ error: JSONError) {
        switch error.kind {
        case .syntax: self.init(.badJSON, error.description)
        case .tooMany:
            self.init(.badJSON, error.description, limit: JSONLimits().memberCountMax)
        case .notUTF8: self.init(.notUTF8, error.description)
        case .duplicateKey: self.init(.duplicateKey, error.description)
        case .tooDeep: self.init(.tooDeep, error.description, limit: JSONLimits().depthMax)
        case .tooLong:
            self.init(
                .payloadTooLarge, error.description, limit: WireLimits.documentByteCountMax)
        }
    }
}

extension String {
    package var excerpt: String { utf8.span.bytes.excerpt() }
}
