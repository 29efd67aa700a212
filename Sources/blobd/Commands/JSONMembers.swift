import BlobJSON

extension JSONValue {
    /// The elements of a member that is an array; none where it is not there.
    func elements(_ name: String) -> [JSONValue] {
        guard case .array(let elements)? = self[name] else { return [] }
        return elements
    }

    /// A member that is a string; nil for anything else.
    func text(_ name: String) -> String? {
        guard case .string(let text)? = self[name] else { return nil }
        return text
    }
}
