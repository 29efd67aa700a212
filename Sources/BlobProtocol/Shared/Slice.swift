/// A range of bytes within a span that the caller holds: trivial values, so that a parsed head can be stored without a
/// reference count and a lifetime. Used with another span it gives other bytes, but never bytes outside of that span.
public struct Slice: Sendable, Hashable {
    @usableFromInline var offset32: UInt32
    @usableFromInline var count32: UInt32

    /// The position of the first byte, from the start of the parsed span.
    @inlinable public var offset: Int { Int(offset32) }

    /// The number of bytes; 0 for a field that is absent or empty.
    @inlinable public var count: Int { Int(count32) }

    /// The position after the last byte.
    @inlinable public var end: Int { Int(offset32) + Int(count32) }

    /// Whether the slice has no bytes.
    @inlinable public var isEmpty: Bool { count32 == 0 }

    /// An empty slice at the start of a span.
    public static let empty = Slice(offset: 0, count: 0)

    /// Values that no message can reach (negative, or above 4 GiB) are clamped; `of(_:)` then returns nothing.
    @inlinable
    public init(offset: Int, count: Int) {
        offset32 = UInt32(clamping: offset)
        count32 = UInt32(clamping: count)
    }

    /// Creates a slice from `lower` up to and not including `upper`.
    init(_ lower: Int, upTo upper: Int) {
        self.init(offset: lower, count: upper - lower)
    }

    /// The bytes in `span`, without a copy. Empty if the slice is not within it: a trap would end a daemon.
    @inlinable
    @inline(__always)
    @_lifetime(copy span)
    public func of(_ span: RawSpan) -> RawSpan {
        guard end <= span.byteCount else { return span.extracting(first: 0) }
        return span.extracting(offset..<end)
    }
}
