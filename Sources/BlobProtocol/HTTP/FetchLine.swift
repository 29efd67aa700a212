/// The request line of the usual fetch, `GET /v1/notifications/{id}/payload HTTP/1.1`, recognised by
/// its words.
///
/// What is not written just like this is left to ``HTTPRequestHead``, and so is every error. What
/// is taken here it would take as well, and find the same in it.
public struct FetchLine: Sendable, Hashable {
    /// The id, which stands for itself: nothing in it is percent-encoded, and it is a valid one.
    public let id: Slice
    /// Where the header section begins.
    public let end: Int

    /// Looks at the start of `bytes`; nil for anything else, and when the line is not whole.
    public init?(_ bytes: RawSpan) {
        guard bytes.byteCount >= Self.byteCountMin,
            bytes.integer(0, as: UInt64.self) == Self.getV1,
            bytes.integer(8, as: UInt64.self) == Self.notifica,
            bytes.integer(14, as: UInt64.self) == Self.cations,
            let idEnd = bytes.plainSegmentEnd(
                from: Self.idStart, byteCountMax: WireLimits.idByteCountMax),
            bytes.byteCount &- idEnd >= Self.restByteCount,
            bytes.integer(idEnd, as: UInt64.self) == Self.payload,
            bytes.integer(idEnd &+ 8, as: UInt64.self) == Self.http1,
            bytes.integer(idEnd &+ 11, as: UInt64.self) == Self.lineEnd
        else { return nil }
        id = Slice(Self.idStart, upTo: idEnd)
        end = idEnd &+ Self.restByteCount
    }

    private static let idStart = 22
    private static let restByteCount = 19
    private static let byteCountMin = idStart + 1 + restByteCount

    // Texts as numbers, as they lie in memory on a little-endian machine. The third of each three
    // overlaps with the one before.
    private static let getV1: UInt64 = 0x2F31_762F_2054_4547  // GET /v1/
    private static let notifica: UInt64 = 0x6163_6966_6974_6F6E  // notifica
    private static let cations: UInt64 = 0x2F73_6E6F_6974_6163  // cations/
    private static let payload: UInt64 = 0x6461_6F6C_7961_702F  // /payload
    private static let http1: UInt64 = 0x2E31_2F50_5454_4820  // " HTTP/1."
    private static let lineEnd: UInt64 = 0x0A0D_312E_312F_5054  // TP/1.1 CR LF
}
