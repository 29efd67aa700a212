extension JSONValue {
    /// The result of a merge patch (RFC 7396). Remaining members keep their order; new ones follow.
    public func merged(with patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        var members: [JSONMember] = []
        if case .object(let present) = self { members = present }
        return .object(Self.merge(changes, into: members))
    }

    private static func merge(
        _ changes: [JSONMember], into present: [JSONMember]
    ) -> [JSONMember] {
        // Removed members leave a gap until the end, so that indexes stay valid.
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
                // Merged with null, which drops removals in a patch of a new member.
                merged.append(JSONMember(change.name, JSONValue.null.merged(with: change.value)))
            }
        }
        return merged.compactMap { $0 }
    }
}

/// Finds members of an object by the bytes of their names.
struct MemberIndexes {
    /// More names than this are hashed. The hash is seeded per process, so that nobody can choose colliding names.
    private static let comparedCountMax = 8
    private var hashed: [[UInt8]: Int] = [:]
    private var hashedCount = 0

    /// `members` must be those of the last call, optionally followed by more.
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
