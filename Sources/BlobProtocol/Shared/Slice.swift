/// A range of bytes inside a span that the caller holds: plain old data, so that a parsed head can be stored without
/// a reference count and a lifetime. Asking it of another span gives other bytes, but never bytes outside of that
/// span.
public struct Slice: Sendable, Hashable {
    @usableFromInline var offset32: UInt32
    @usableFromInline var count32: UInt32

    /// The first byte's distance from the start of the parsed span, in bytes.
    @inlinable public var offset: Int { Int(offset32) }

    /// How many bytes there are; 0 for a field that is absent or empty.
    @inlinable public var count: Int { Int(count32) }

    /// The position after the last byte.
    @inlinable public var end: Int { Int(offset32) + Int(count32) }

    /// Whether there is not a single byte.
    @inlinable public var isEmpty: Bool { count32 == 0 }

    /// The slice of no bytes at the start of a span.
    public static let empty = Slice(offset: 0, count: 0)

    /// Values that no message can reach (negative, or beyond 4 GiB) are clamped; `of(_:)` then gives nothing.
    @inlinable
    public init(offset: Int, count: Int) {
        offset32 = UInt32(clamping: offset)
        count32 = UInt32(clamping: count)
    }

    /// A slice from `lower` up to and not including `upper`.
    init(_ lower: Int, upTo upper: Int) {
        self.init(offset: lower, count: upper - lower)
    }

    /// The bytes in `span`, without a copy. Empty when the slice does not lie within it: a trap would end a daemon.
    @inlinable
    @inline(__always)
    @_lifetime(copy span)
    public func of(_ span: RawSpan) -> RawSpan {
        guard end <= span.byteCount else { return span.extracting(first: 0) }
        return span.extracting(offset..<end)
    }
}
