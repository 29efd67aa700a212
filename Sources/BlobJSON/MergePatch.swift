extension JSONValue {
    /// What a merge patch makes of it (RFC 7396). Members that stay keep their order; new ones come after them.
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
        var indexes = MemberIndexes()
        for change in changes {
            let index = indexes.find(change.name, in: present)
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

/// Finds members of an object by the bytes of their names.
struct MemberIndexes {
    /// Many names are hashed, with the process's own seed, so that nobody can choose names that all fall together.
    private static let comparedCountMax = 8
    private var hashed: [[UInt8]: Int] = [:]
    private var hashedCount = 0

    /// `members` are those of the last call, and perhaps more after them.
    mutating func find(_ name: String, in members: [JSONMember]) -> Int? {
        guard members.count > Self.comparedCountMax else {
            return members.firstIndex { $0.isNamed(name) }
        }
        while hashedCount < members.count {
            hashed[Array(members[hashedCount].name.utf8)] = hashedCount
            hashedCount += 1
        }
        return hashed[Array(name.utf8)]
    }
}
