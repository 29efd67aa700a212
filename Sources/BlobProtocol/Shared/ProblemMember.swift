/// A member that a problem document has beside the usual ones.
public struct ProblemMember: Sendable, Hashable {
    /// What it says.
    public enum Value: Sendable, Hashable {
        /// A string.
        case text(String)
        /// A list of strings.
        case texts([String])
        /// A number.
        case number(UInt64)
        /// Nothing.
        case null
    }

    /// Its name, which needs no escapes.
    public let name: String
    /// What it says.
    public let value: Value

    /// A member.
    public init(_ name: String, _ value: Value) {
        self.name = name
        self.value = value
    }
}
