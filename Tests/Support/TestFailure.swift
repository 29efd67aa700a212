import Glibc

/// Something that a test, or a scenario, could not do or found wrong.
public struct TestFailure: Error, CustomStringConvertible {
    /// What failed, with the words for its `errno`.
    public let description: String

    /// A failure; `code` is an `errno`.
    public init(_ what: String, _ code: Int32? = nil) {
        description = code.map { "\(what): \(words($0))" } ?? what
    }
}

/// Throws `what` as a failure unless `condition` holds.
public func require(
    _ condition: Bool, _ what: @autoclosure () -> String
) throws(TestFailure) {
    if !condition { throw TestFailure(what()) }
}

/// The words for an `errno`.
public func words(_ code: Int32) -> String {
    // Copied before another call of `strerror`.
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
}
