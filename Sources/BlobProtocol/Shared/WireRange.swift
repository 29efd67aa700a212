import Bytes

/// A range of a payload's bytes as given: `Range` in HTTP (RFC 9110, section 14.1.2), or in a head of the binary
/// protocol.
public enum WireRange: Sendable, Hashable {
    /// `count` bytes from a position on, at least 1; nil: to the end. Exceeding the payload is not an error.
    case from(UInt64, count: UInt64?)
    /// The last bytes, this many. HTTP only.
    case suffix(UInt64)

    /// A range of `count` bytes from `first` on.
    public init(first: UInt64, count: UInt64? = nil) { self = .from(first, count: count) }

    /// nil for anything but one range of bytes, since a server may ignore the field. Numbers too large for 64 bits
    /// become the largest.
    init?(_ text: RawSpan) {
        guard text.hasPrefixIgnoringCase("bytes=") else { return nil }
        let spec = text.extracting(droppingFirst: 6)
        let dash = spec.index(of: UInt8(ascii: "-"))
        guard dash < spec.byteCount else { return nil }
        let left = spec.extracting(first: dash)
        let right = spec.extracting(droppingFirst: dash + 1)
        if left.byteCount == 0 {
            guard let count = Self.number(right) else { return nil }
            self = .suffix(count)
            return
        }
        guard let first = Self.number(left) else { return nil }
        if right.byteCount == 0 {
            self = .from(first, count: nil)
        } else {
            guard let last = Self.number(right), last >= first else { return nil }
            let (count, isTooMany) = (last - first).addingReportingOverflow(1)
            self = .from(first, count: isTooMany ? nil : count)
        }
    }

    private static func number(_ text: RawSpan) -> UInt64? {
        switch Decimal.parse(text) {
        case .value(let value): value
        case .tooLarge: .max
        case .malformed: nil
        }
    }

    /// The range in error messages.
    package var words: String {
        switch self {
        case .from(let first, _): "from byte \(first) on"
        case .suffix(let count): "of the last \(count) bytes"
        }
    }

    /// The result of the range for a payload of `byteCount` bytes.
    public func resolve(byteCount: UInt64) -> ResolvedRange {
        switch self {
        case .from(let first, let count):
            guard first < byteCount else { return .unsatisfiable }
            let left = byteCount - first
            return .partial(first, first + min(count ?? left, left))
        case .suffix(let count):
            guard count > 0 else { return .unsatisfiable }
            // A Content-Range cannot express an empty range.
            guard byteCount > 0 else { return .whole }
            return .partial(byteCount - min(count, byteCount), byteCount)
        }
    }
}

/// The result of a requested range for one payload.
public enum ResolvedRange: Sendable, Hashable {
    /// The whole payload, as if no range had been requested.
    case whole
    /// The bytes from the first position up to and not including the second.
    case partial(UInt64, UInt64)
    /// None of it: 416.
    case unsatisfiable
}
