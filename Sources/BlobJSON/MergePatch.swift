extension JSONValue {
    /// What a merge patch makes of it (RFC 7396): objects are merged member by member, null takes a
    /// member away, and anything else takes the place of what is there. Members that stay keep their
    /// order; new ones come behind them, in the patch's order.
    ///
    /// The cost is that of both values' sizes, whatever they are.
    public func merged(with patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [JSONMember] = []
        if case .object(let present) = self { members = present }
        return .object(Self.merge(changes, into: members))
    }

    private static func merge(
        _ changes: [JSONMember], into present: [JSONMember]
    ) -> [JSONMember] {
        // Taken-away members leave a gap until the end, so that indexes stay what they are.
        var merged: [JSONMember?] = present
        let indexes = MemberIndexes(present)
        for change in changes {
            let index = indexes[change.name]
            if case .null = change.value {
                if let index { merged[index] = nil }
            } else if let index {
                merged[index] = JSONMember(
                    present[index].name, present[index].value.merged(with: change.value))
            } else {
                // Merged with nothing: what a patch of a new member says of taking away is dropped.
                merged.append(JSONMember(change.name, JSONValue.null.merged(with: change.value)))
            }
        }
        return merged.compactMap { $0 }
    }
}

/// Where an object's members are, by the bytes of their names.
private struct MemberIndexes {
    /// Few members are looked through; more are looked up.
    private static let searchedCountMax = 8
    private let members: [JSONMember]
    private var hashed: [[UInt8]: Int] = [:]

    init(_ members: [JSONMember]) {
        self.members = members
        guard members.count > Self.searchedCountMax else { return }
        for (index, member) in members.enumerated() { hashed[Array(member.name.utf8)] = index }
    }

    subscript(_ name: String) -> Int? {
        guard hashed.isEmpty else { return hashed[Array(name.utf8)] }
        return members.firstIndex { $0.isNamed(name) }
    }
}
