/// The header section that was met last behind a ``FetchLine``, if it asks for nothing but the whole
/// payload: no condition, no range, no body, and the connection goes on. A client writes the same
/// section every time, so that comparing it takes the place of parsing it.
public struct KnownSection: ~Copyable, Sendable {
    /// The longest section that is remembered, in bytes.
    public static let byteCountMax = 1_024

    /// With the empty line; empty when there is none.
    private var bytes: [UInt8] = []

    /// None.
    public init() {}

    /// How many bytes it has, the empty line included; 0 when there is none.
    public var byteCount: Int { bytes.count }

    /// Whether the bytes from `start` on begin with it. What they ask for is known then.
    public func stands(at start: Int, in request: RawSpan) -> Bool {
        let count = bytes.count
        guard count > 0, count <= request.byteCount - start else { return false }
        return request.extracting(start..<start + count).equals(bytes.span.bytes)
    }

    /// Remembers a section instead of the one before, if it is short and plain enough.
    ///
    /// - Parameters:
    ///   - section: everything behind the request line, up to and with the empty line.
    ///   - head: what was parsed from it, behind a ``FetchLine``.
    public mutating func remember(_ section: RawSpan, of head: borrowing HTTPRequestHead) {
        guard section.byteCount <= Self.byteCountMax, head.isOfWhole else { return }
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: section)
    }
}

extension HTTPRequestHead {
    /// Whether it asks for all of a payload, whatever that is, as it was given if it is not kept
    /// coded, and for the connection to go on.
    fileprivate var isOfWhole: Bool {
        contentLength == nil && !isChunked && !expectsContinue && keepAlive && range == .none
            && ifRange == nil && ifMatch.isEmpty && ifNoneMatch.isEmpty
            && acceptEncoding.acceptsIdentity
    }
}
