/// A moment of wall-clock time, in milliseconds since 1970-01-01T00:00:00Z. The store has no clock of its own. It
/// refuses moments before 1970 and from the year 10000 on (``StoreError/invalid(_:)``).
public struct Timestamp: Sendable, Hashable, Comparable, BitwiseCopyable {
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

/// When a notification ends.
public enum Expiry: Sendable, Hashable {
    /// At this moment, which must not be past.
    case at(Timestamp)
    /// So many seconds after the moment of the change (`asOf`), at least 1. A notification that is
    /// created so has exactly so many seconds between its creation and its end.
    case after(seconds: Int64)
    /// When it ends already; for a notification that is not there, at this moment.
    case keep(otherwise: Timestamp)
    /// When it ends already; for a notification that is not there, so many seconds after the moment
    /// of the change.
    case keepOrAfter(seconds: Int64)
}

extension Expiry {
    /// When that is.
    ///
    /// - Parameters:
    ///   - present: when the notification that is there ends; nil: there is none.
    ///   - now: the moment of the change.
    func moment(keeping present: Timestamp?, asOf now: Timestamp) -> Timestamp {
        switch self {
        case .at(let moment): moment
        case .after(let seconds): now.adding(seconds: seconds)
        case .keep(let otherwise): present ?? otherwise
        case .keepOrAfter(let seconds): present ?? now.adding(seconds: seconds)
        }
    }
}

/// A moment of the machine's boot clock, which continues whatever is done to the wall clock, and
/// which boot it belongs to.
public struct BootTime: Sendable, Hashable {
    /// Which boot; a moment of another one says nothing about this one.
    public var bootID: BootID
    /// Milliseconds since the machine was booted (`CLOCK_BOOTTIME`), suspended or not.
    public var milliseconds: Int64

    /// A moment of a boot.
    public init(bootID: BootID, milliseconds: Int64) {
        self.bootID = bootID
        self.milliseconds = milliseconds
    }
}

/// 16 bytes that are new with each boot (`/proc/sys/kernel/random/boot_id`).
public struct BootID: Sendable, Hashable, BitwiseCopyable {
    let high: UInt64
    let low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The boot that cannot be told from others, for machines that do not say.
    public static let unknown = BootID(high: 0, low: 0)

    /// Reads 32 hexadecimal digits, with hyphens between them or not; nil when it is anything else.
    public init?(_ text: String) {
        guard let bytes = StoreID(text.lowercased().filter { $0 != "-" }) else { return nil }
        (high, low) = (bytes.high, bytes.low)
    }
}
