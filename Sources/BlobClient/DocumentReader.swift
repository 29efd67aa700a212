package import BlobJSON
import Notifications

extension JSONValue {
    package static func parse(answer document: [UInt8]) throws(JSONError) -> JSONValue {
        var limits = JSONLimits()
        limits.byteCountMax = BlobConnection.documentByteCountMax
        limits.memberCountMax = .max
        // A notification's data may be 64 deep, in a record in a change in a page.
        limits.depthMax += 16
        return try parse(document.span.bytes, limits: limits)
    }
}

/// An object in a JSON document of the daemon's. Unknown members are ignored, so that a newer daemon may
/// say more.
struct DocumentReader {
    private let value: JSONValue

    init(_ document: [UInt8]) throws(ClientError) {
        do throws(JSONError) {
            value = try JSONValue.parse(answer: document)
        } catch {
            throw .protocolViolation("invalid JSON document: \(error)")
        }
    }

    private init(within value: JSONValue) {
        self.value = value
    }

    func member(_ name: String) -> JSONValue? {
        switch value[name] {
        case nil, .null: nil
        case let found?: found
        }
    }

    func text(_ name: String) throws(ClientError) -> String {
        guard let text = try optionalText(name) else { throw missing(name) }
        return text
    }

    func optionalText(_ name: String) throws(ClientError) -> String? {
        guard let member = member(name) else { return nil }
        guard case .string(let text) = member else { throw unfit(name, "a string") }
        return text
    }

    func integer<Number: FixedWidthInteger>(_ name: String) throws(ClientError) -> Number {
        guard let number: Number = try optionalInteger(name) else { throw missing(name) }
        return number
    }

    func optionalInteger<Number: FixedWidthInteger>(
        _ name: String
    ) throws(ClientError) -> Number? {
        guard let member = member(name) else { return nil }
        guard case .number(let number) = member, let integer = Number(number.text) else {
            throw unfit(name, "a whole number")
        }
        return integer
    }

    func optionalFlag(_ name: String) throws(ClientError) -> Bool? {
        guard let member = member(name) else { return nil }
        guard case .bool(let flag) = member else { throw unfit(name, "a boolean") }
        return flag
    }

    func choice<Value: NamedValue>(_ name: String) throws(ClientError) -> Value {
        guard let value: Value = try optionalChoice(name) else { throw missing(name) }
        return value
    }

    func optionalChoice<Value: NamedValue>(_ name: String) throws(ClientError) -> Value? {
        guard let text = try optionalText(name) else { return nil }
        guard let value = Value(name: text) else { throw unfit(name, "a known value") }
        return value
    }

    /// Strings; none when there is no such member.
    func optionalTexts(_ name: String) throws(ClientError) -> [String] {
        try optionalList(name) { (element) throws(ClientError) in
            guard case .string(let text) = element.value else {
                throw unfit(name, "an array of strings")
            }
            return text
        } ?? []
    }

    func textMembers(_ name: String) throws(ClientError) -> [(name: String, value: String)] {
        guard case .object(let members)? = member(name) else { throw unfit(name, "an object") }
        var texts: [(name: String, value: String)] = []
        for member in members {
            guard case .string(let text) = member.value else {
                throw unfit(name, "an object of strings")
            }
            texts.append((member.name, text))
        }
        return texts
    }

    func optionalObject<Element>(
        _ name: String, _ read: (DocumentReader) throws(ClientError) -> Element
    ) throws(ClientError) -> Element? {
        guard let member = member(name) else { return nil }
        return try read(DocumentReader(within: member))
    }

    func list<Element>(
        _ name: String, _ read: (DocumentReader) throws(ClientError) -> Element
    ) throws(ClientError) -> [Element] {
        guard let list = try optionalList(name, read) else { throw missing(name) }
        return list
    }

    func optionalList<Element>(
        _ name: String, _ read: (DocumentReader) throws(ClientError) -> Element
    ) throws(ClientError) -> [Element]? {
        guard let member = member(name) else { return nil }
        guard case .array(let elements) = member else { throw unfit(name, "an array") }
        var list: [Element] = []
        list.reserveCapacity(elements.count)
        for element in elements { list.append(try read(DocumentReader(within: element))) }
        return list
    }

    private func missing(_ name: String) -> ClientError {
        .protocolViolation("the JSON document has no member \(name)")
    }

    private func unfit(_ name: String, _ wanted: String) -> ClientError {
        .protocolViolation("the member \(name) of the JSON document is not \(wanted)")
    }
}
