/// The head of the usual answer to a fetch: 200, all of a payload as it was given, on a connection
/// that goes on. The same fields as any other answer with a payload, in the same order, but written
/// in one go: most of the head is text that is known beforehand.
public struct PayloadHead: ~Copyable, Sendable {
    /// From the status line up to the value of `Content-Type`; changes once a second.
    private var opening: [UInt8] = []

    /// A head whose time is not set.
    public init() {}

    /// Sets the time of the `Date` field, which must be done before a head is appended.
    public mutating func setDate(seconds: Int64) {
        opening.removeAll(keepingCapacity: true)
        HTTPResponseHead.begin(200, into: &opening)
        HTTPResponseHead.date(seconds: seconds, into: &opening)
        opening.append("Content-Type: ")
    }

    /// Appends the head to `out`. The bytes of both spans are copied; nothing is allocated but what
    /// `out` grows by.
    ///
    /// - Parameters:
    ///   - mediaType: the value of `Content-Type`, which was checked; at most
    ///     ``WireLimits/mediaTypeByteCountMax`` bytes.
    ///   - byteCount: how many bytes the payload has.
    ///   - digest: its SHA-256, 32 bytes.
    ///   - maxAge: how many seconds it has left.
    ///   - isEnded: whether the last line's end and the empty line are written too. If not, blanks
    ///     may follow, and the four bytes must.
    public func append(
        mediaType: RawSpan, byteCount: UInt64, digest: RawSpan, maxAge: UInt64, isEnded: Bool,
        into out: inout [UInt8]
    ) {
        precondition(
            mediaType.byteCount <= WireLimits.mediaTypeByteCountMax
                && digest.byteCount == Wire.digestByteCount
                && opening.count <= Self.openingByteCountMax)
        withUnsafeTemporaryAllocation(byteCount: Self.byteCountMax, alignment: 8) { memory in
            guard let start = memory.baseAddress else { return }
            // The parts of variable length were bounded above, and a number has at most twenty
            // digits; ``byteCountMax`` is the sum of all.
            var writer = HeadWriter(next: start)
            writer.put(opening.span.bytes)
            writer.put(mediaType)
            writer.put("\r\nContent-Length: ")
            writer.put(byteCount)
            writer.put("\r\nETag: \"sha256:")
            writer.put(hexOf: digest)
            writer.put("\"\r\nCache-Control: private, max-age=")
            writer.put(maxAge)
            writer.put(Self.unchanging)
            if isEnded { writer.put("\r\n\r\n") }
            out.append(
                contentsOf: UnsafeRawBufferPointer(start: start, count: writer.next - start))
        }
    }

    /// The fields that are the same for every payload, from the end of the line before; the last
    /// line is not ended.
    public static let unchanging: StaticString =
        "\r\nAccept-Ranges: bytes\r\nX-Content-Type-Options: nosniff\r\nContent-Security-Policy: sandbox; default-src 'none'"

    private static let openingByteCountMax = 128
    /// More than the opening, the longest media type, a digest's digits, two numbers and the fixed
    /// text, which is under 300 bytes, together.
    private static let byteCountMax = 1_024
}

/// Writes texts one behind the other.
private struct HeadWriter {
    /// Where the next byte goes. There must be room for all that is put.
    var next: UnsafeMutableRawPointer

    @inline(__always)
    mutating func put(_ text: StaticString) {
        // The literal's bytes are there for ever.
        next.copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
        next += text.utf8CodeUnitCount
    }

    @inline(__always)
    mutating func put(_ bytes: RawSpan) {
        // The span keeps its bytes during the call.
        bytes.withUnsafeBytes { source in
            guard let start = source.baseAddress else { return }
            next.copyMemory(from: start, byteCount: source.count)
        }
        next += bytes.byteCount
    }

    @inline(__always)
    mutating func put(_ value: UInt64) {
        // Most numbers are lower, and their digits fit into one word.
        guard value < 100_000_000 else {
            var text: [UInt8] = []
            Decimal.append(value, to: &text)
            return put(text.span.bytes)
        }
        let digits = Decimal.digits(under100Million: UInt32(truncatingIfNeeded: value))
        // All eight bytes of the word, of which the next text covers those that are none.
        next.storeBytes(of: digits.word.littleEndian, as: UInt64.self)
        next += digits.count
    }

    /// Two digits in lower case for each byte, of which there are a multiple of four.
    @inline(__always)
    mutating func put(hexOf bytes: RawSpan) {
        var offset = 0
        while offset &+ 4 <= bytes.byteCount {
            let digits = Hex.digits(UInt32(bigEndian: bytes.integer(offset, as: UInt32.self)))
            next.storeBytes(of: digits.bigEndian, as: UInt64.self)
            next += 8
            offset &+= 4
        }
    }
}
