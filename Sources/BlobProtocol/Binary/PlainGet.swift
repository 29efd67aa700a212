import Bytes

/// The plain `get`: a whole payload by its notification's id, recognised by its words.
///
/// What is not written just like this is left to ``RequestFrame`` and ``Get/Request``, and so is
/// every error but one: the id is not checked. An id that is none names no notification, so whoever
/// finds one need not check it, and whoever finds none must let them say what is wrong.
public struct PlainGet: Sendable, Hashable {
    /// The client's own number for the request.
    public let requestID: UInt32
    /// Whether the body may be a gzip stream.
    public let acceptsGzip: Bool
    /// Where the id lies; its end is the end of the frame.
    public let id: Slice

    /// How many bytes the frame has.
    public var byteCount: Int {
        @inline(__always)
        get { Self.idStart &+ id.count }
    }

    /// Looks at the start of `bytes`; nil for anything else, and when the frame is not whole.
    @inline(__always)
    public init?(_ bytes: RawSpan) {
        guard bytes.byteCount > Self.idStart else { return nil }
        let opening = bytes.integer(0, as: UInt64.self)
        let head = bytes.integer(8, as: UInt64.self)
        // How many bytes the id has; any other text, or a reserved byte that is set, makes it large.
        let idByteCount = bytes.integer(40, as: UInt64.self)
        // The flag for gzip is the lowest.
        guard (opening & 0xFFFF_FFFF) & ~Self.gzipFlag == Self.opening,
            idByteCount &- 1 < 255, head == idByteCount &+ UInt64(Get.Request.fixedByteCount),
            bytes.byteCount &- Self.idStart >= Int(truncatingIfNeeded: idByteCount),
            // No body, and no range.
            bytes.integer(16, as: UInt64.self) | bytes.integer(24, as: UInt64.self)
                | bytes.integer(32, as: UInt64.self) == 0
        else { return nil }
        requestID = UInt32(truncatingIfNeeded: opening >> 32)
        acceptsGzip = opening & Self.gzipFlag != 0
        id = Slice(offset: Self.idStart, count: Int(truncatingIfNeeded: idByteCount))
    }

    private static let idStart = Wire.frameHeaderByteCount + Get.Request.fixedByteCount
    /// Magic and opcode, and no flags.
    private static let opening =
        UInt64(Wire.requestMagic) | UInt64(Opcode.get.rawValue) << 8
    private static let gzipFlag = UInt64(RequestFlags.gzipAccepted.rawValue) << 16
}
