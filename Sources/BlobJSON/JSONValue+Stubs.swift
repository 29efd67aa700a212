// Stubs. Package C takes this file apart: JSONParser.swift, JSONComposer.swift, MergePatch.swift.

extension JSONValue: Hashable {
    /// By bytes, numbers by their texts.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        var leftBytes: [UInt8] = []
        var rightBytes: [UInt8] = []
        left.append(to: &leftBytes)
        right.append(to: &rightBytes)
        return leftBytes == rightBytes
    }

    /// Feeds the minified text.
    public func hash(into hasher: inout Hasher) {
        var bytes: [UInt8] = []
        append(to: &bytes)
        hasher.combine(bytes)
    }
}

extension JSONValue {
    /// Parses one value with blanks around it, and nothing else.
    ///
    /// - Throws: what is wrong first, and where.
    public static func parse(
        _ bytes: RawSpan, limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> JSONValue {
        throw JSONError(kind: .syntax, offset: 0, description: "not built yet")
    }

    /// Appends it without blanks, strings escaped as RFC 8259, section 7, needs and no more.
    public func append(to out: inout [UInt8]) {}

    /// What a merge patch makes of it (RFC 7396). Members that stay keep their order; new ones come
    /// behind them.
    public func merged(with patch: JSONValue) -> JSONValue { patch }

    /// The member of that name, by bytes; nil when there is none, or it is no object.
    public subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }
}
