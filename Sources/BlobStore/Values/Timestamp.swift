/// A moment of wall-clock time, in milliseconds since 1970-01-01T00:00:00Z.
///
/// The store has no clock of its own: every call that needs the time takes one of these.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// Milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
    public var milliseconds: Int64

    /// The moment `milliseconds` after 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// True when `left` comes first.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// The moment `seconds` later; the last one that can be written when that is out of range.
    public func adding(seconds: Int64) -> Timestamp {
        let (span, tooLong) = seconds.multipliedReportingOverflow(by: 1_000)
        let (sum, tooLate) = milliseconds.addingReportingOverflow(span)
        return Timestamp(milliseconds: tooLong || tooLate ? .max : sum)
    }
}
