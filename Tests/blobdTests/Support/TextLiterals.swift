import Notifications

/// A literal of a test keeps the rule of its kind.
extension CheckedText: ExpressibleByStringLiteral {
    /// The text of a literal.
    public init(stringLiteral text: String) {
        do {
            try self.init(text)
        } catch {
            preconditionFailure("the literal \"\(text)\" \(error.words)")
        }
    }
}
