/// Why there is no comparison.
struct CompareFailure: Error, CustomStringConvertible {
    /// In words for people.
    var description: String

    init(_ description: String) { self.description = description }
}
