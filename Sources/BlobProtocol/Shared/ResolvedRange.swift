/// What a request for a range means for one payload.
public enum ResolvedRange: Sendable, Hashable {
    /// All of it, as if no range had been asked for.
    case whole
    /// The bytes from the first position up to and not including the second.
    case partial(UInt64, UInt64)
    /// None of it: 416.
    case unsatisfiable
}
