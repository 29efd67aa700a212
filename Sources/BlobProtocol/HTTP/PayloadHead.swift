import Bytes

/// Writes the heads of 200, 206 and 304 answers for payloads, each in one go.
public struct PayloadHead: ~Copyable, Sendable {
    private var date: [UInt8] = []

    /// Creates a writer whose time is not set.
    public init() {}

    /// Sets the time of the `Date` field. Required before a head is appended.
    public mutating func setDate(seconds: Int64) {
        date.removeAll(keepingCapacity: true)
        HTTPResponseHead.date(seconds: seconds, into: &date)
    }

    /// How long a cache may use an answer: its `Cache-Control`.
    public enum Freshness: Sendable, Hashable {
        /// `private, no-cache`: another payload may replace it, so it is revalidated by its `ETag`.
        case replaceable
        /// The same in the last twelve seconds of its life. `X-Accel-Expires: 0` keeps it out of nginx's cache, whose
        /// entries live as long as nginx says.
        case ending
        /// `private, immutable, max-age=` these seconds, for bytes that the URL names by their digest.
        case immutable(seconds: UInt64)
    }

    /// What is left of a life that is ``Freshness/ending``, in milliseconds.
    public static let lastMilliseconds: Int64 = 12_000

    /// The fields that vary between heads.
    public struct Fields: Sendable {
        /// 200, 206 with a range, or 304.
        public var status: UInt16
        /// Whether the connection closes after the answer.
        public var isLast = false
        /// Whether the request is HTTP/1.0, whose answer must say that the connection stays open.
        public var isHTTP10 = false
        /// The size of the body.
        public var byteCount: UInt64 = 0
        /// The range of the body, and the size of the whole payload.
        public var range: (lower: UInt64, upper: UInt64, total: UInt64)?
        /// Whether the bytes are a gzip stream.
        public var isGzip = false
        /// Whether the coding depends on what the client accepts.
        public var varies = false
        /// How long a cache may use it.
        public var freshness = Freshness.replaceable
        /// If false, blanks may be appended, and the last four bytes, CR LF CR LF, must be.
        public var isEnded = true

        /// Creates the fields of an answer with this status, on an HTTP/1.1 connection that stays open.
        public init(status: UInt16) { self.status = status }
    }

    /// Appends the head to `out`. The media type must be checked; the digest is the payload's SHA-256.
    public func append(
        _ fields: Fields, mediaType: RawSpan, digest: RawSpan, into out: inout [UInt8]
    ) {
        precondition(digest.byteCount == 32)
        out.append(addingCapacity: Self.byteCountMax + date.count + mediaType.byteCount) { room in
            room.withUnsafeMutableBufferPointer { buffer, count in
                guard let start = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
                // ``byteCountMax`` is more than the sum of all parts of fixed length; a number has at most twenty
                // digits.
                var writer = HeadWriter(next: start)
                write(fields, mediaType, digest, with: &writer)
                count = writer.next - start
            }
        }
    }

    @inline(__always)
    private func write(
        _ fields: Fields, _ mediaType: RawSpan, _ digest: RawSpan, with writer: inout HeadWriter
    ) {
        switch fields.status {
        case 206: writer.put("HTTP/1.1 206 Partial Content\r\n")
        case 304: writer.put("HTTP/1.1 304 Not Modified\r\n")
        default: writer.put("HTTP/1.1 200 OK\r\n")
        }
        writer.put(date.span.bytes)
        if fields.isLast {
            writer.put("Connection: close\r\n")
        } else if fields.isHTTP10 {
            writer.put("Connection: keep-alive\r\n")
        }
        if fields.status != 304 {
            writer.put("Content-Type: ")
            writer.put(mediaType)
            writer.put("\r\nContent-Length: ")
            writer.put(fields.byteCount)
            if let range = fields.range {
                writer.put("\r\nContent-Range: bytes ")
                writer.put(range.lower)
                writer.put("-")
                writer.put(range.upper - 1)
                writer.put("/")
                writer.put(range.total)
            }
            if fields.isGzip { writer.put("\r\nContent-Encoding: gzip") }
            writer.put("\r\n")
        }
        writer.put("ETag: \"sha256:")
        writer.put(hexOf: digest)
        if fields.isGzip { writer.put("-gzip") }
        writer.put("\"")
        if fields.varies { writer.put("\r\nVary: Accept-Encoding") }
        switch fields.freshness {
        case .replaceable: writer.put("\r\nCache-Control: private, no-cache")
        case .ending:
            writer.put("\r\nCache-Control: private, no-cache\r\nX-Accel-Expires: 0")
        case .immutable(let seconds):
            writer.put("\r\nCache-Control: private, immutable, max-age=")
            writer.put(seconds)
        }
        if fields.status != 304 {
            writer.put(
                """
                \r\nAccept-Ranges: bytes\r\nX-Content-Type-Options: nosniff\r\n\
                Content-Security-Policy: sandbox; default-src 'none'
                """)
        }
        if fields.isEnded { writer.put("\r\n\r\n") }
    }

    /// More than the fixed text, the digits of a digest and five numbers together.
    private static let byteCountMax = 640
}

private struct HeadWriter {
    /// The position of the next byte. There must be room for everything that is put.
    var next: UnsafeMutableRawPointer

    @inline(__always)
    mutating func put(_ text: StaticString) {
        // A literal's bytes are never freed.
        next.copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
        next += text.utf8CodeUnitCount
    }

    @inline(__always)
    mutating func put(_ bytes: RawSpan) {
        // The span keeps its bytes alive during the call.
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
        // Writes all eight bytes of the word. The next text overwrites those that are not digits.
        next.storeBytes(of: digits.word.littleEndian, as: UInt64.self)
        next += digits.count
    }

    @inline(__always)
    mutating func put(hexOf bytes: RawSpan) {
        Hex.write(bytes, to: next)
        next += 2 &* bytes.byteCount
    }
}
