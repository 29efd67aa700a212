import Bytes

/// What a `Range` field asks for (RFC 9110, section 14.1.2).
public enum RangeSpec: Sendable, Hashable {
    /// Nothing that is used.
    case none
    /// The bytes from a position on, up to and with the last position, if there is one.
    case from(UInt64, last: UInt64?)
    /// The last so many bytes.
    case suffix(UInt64)

    /// Reads a field's value. One range of bytes is used; anything else is `none`, as a server
    /// may ignore the field. Numbers that 64 bits cannot hold stand for the greatest that they can.
    init(_ text: RawSpan) {
        self = .none
        guard text.hasPrefixIgnoringCase("bytes=") else { return }
        let spec = text.extracting(droppingFirst: 6)
        var dash = 0
        while dash < spec.byteCount, spec.byte(dash) != UInt8(ascii: "-") { dash += 1 }
        guard dash < spec.byteCount else { return }
        let left = spec.extracting(first: dash)
        let right = spec.extracting(droppingFirst: dash + 1)
        if left.byteCount == 0 {
            if let count = Self.number(right) { self = .suffix(count) }
            return
        }
        guard let first = Self.number(left) else { return }
        if right.byteCount == 0 {
            self = .from(first, last: nil)
        } else if let last = Self.number(right), last >= first {
            self = .from(first, last: last)
        }
    }

    private static func number(_ text: RawSpan) -> UInt64? {
        switch Decimal.parse(text) {
        case .value(let value): value
        case .tooLarge: .max
        case .malformed: nil
        }
    }

    /// What the range means for a payload of `byteCount` bytes.
    public func resolve(byteCount: UInt64) -> ResolvedRange {
        switch self {
        case .none:
            return .whole
        case .from(let first, let last):
            guard first < byteCount else { return .unsatisfiable }
            return .partial(first, min(last ?? byteCount - 1, byteCount - 1) + 1)
        case .suffix(let count):
            guard count > 0 else { return .unsatisfiable }
            // There is no way to write a Content-Range of nothing.
            guard byteCount > 0 else { return .whole }
            return .partial(byteCount - min(count, byteCount), byteCount)
        }
    }
}
