internal import CZlib

/// A stream of zlib, which inflates or deflates: `z_stream`. It is on the heap, since zlib keeps a pointer to
/// it. One thread at a time.
package struct ZStream: ~Copyable {
    /// What is around the deflated bytes, as zlib's `windowBits` with the largest window.
    package enum Container: Int32, Sendable {
        case gzip = 31
        case zlib = 15
        case none = -15
    }

    /// What a deflating stream does after the bytes of a call.
    package enum Flush: Sendable {
        /// Nothing.
        case none
        /// All of them come out, and what comes later refers to none of them.
        case full
        /// The stream ends.
        case finish
    }

    package enum Outcome: Sendable {
        /// It continues. Where all the room was used, there may be more to come out.
        case continues
        /// The stream has ended.
        case ended
        /// Neither bytes nor room are left to continue with.
        case stalled
        case noMemory
        /// The bytes are no such stream.
        case damaged
    }

    /// zlib has no memory for a stream.
    package struct NoMemory: Error {}

    private let stream: UnsafeMutablePointer<z_stream>
    private let isDeflating: Bool
    /// What zlib writes of the gzip header besides the usual, and the field that this points to. It
    /// reads both while the first bytes come out.
    private let header: UnsafeMutablePointer<gz_header>
    private let field: UnsafeMutableBufferPointer<UInt8>

    /// `inflateInit2`.
    package init(inflating container: Container) throws(NoMemory) {
        try self.init(isDeflating: false, extraField: []) { stream in
            inflateInit2_(
                stream, container.rawValue, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        }
    }

    /// `deflateInit2`, in a gzip container.
    ///
    /// - Parameter extraField: of the gzip header; empty for none.
    package init(deflatingAt level: Int32, extraField: [UInt8] = []) throws(NoMemory) {
        try self.init(isDeflating: true, extraField: extraField) { stream in
            // 8: zlib's usual memory.
            deflateInit2_(
                stream, level, Z_DEFLATED, Container.gzip.rawValue, 8, Z_DEFAULT_STRATEGY,
                ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        }
    }

    private init(
        isDeflating: Bool, extraField: [UInt8],
        _ begin: (UnsafeMutablePointer<z_stream>) -> Int32
    ) throws(NoMemory) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard begin(stream) == Z_OK else {
            stream.deallocate()
            throw NoMemory()
        }
        self.stream = stream
        self.isDeflating = isDeflating
        header = .allocate(capacity: extraField.isEmpty ? 0 : 1)
        field = .allocate(capacity: extraField.count)
        _ = field.initialize(from: extraField)
        guard !extraField.isEmpty else { return }
        header.initialize(to: gz_header())
        header.pointee.os = 3
        header.pointee.extra = field.baseAddress
        header.pointee.extra_len = UInt32(field.count)
        deflateSetHeader(stream, header)
    }

    deinit {
        if isDeflating { deflateEnd(stream) } else { inflateEnd(stream) }
        stream.deallocate()
        header.deallocate()
        field.deallocate()
    }

    /// Bytes that came out since the stream began, or began again.
    package var producedByteCount: Int { Int(stream.pointee.total_out) }

    /// Begins to inflate again: `inflateReset`.
    package func reset() -> Bool { inflateReset(stream) == Z_OK }

    /// One call of `inflate` or `deflate`: from `input` to `count` bytes of `output` from `offset` on, which
    /// are there.
    ///
    /// - Returns: how many bytes were used, and how many came out.
    package func run(
        _ input: RawSpan, _ flush: Flush = .none, into output: inout [UInt8], at offset: Int = 0,
        count: Int
    ) -> (outcome: Outcome, consumed: Int, produced: Int) {
        precondition(offset >= 0 && count >= 0 && count <= output.count - offset)
        // Both pointers are used inside this call only, and zlib stays inside the counts it is
        // given. It does not write to its input.
        return input.withUnsafeBytes { source in
            output.withUnsafeMutableBytes { target in
                stream.pointee.next_in = UnsafeMutablePointer(
                    mutating: source.baseAddress?.assumingMemoryBound(to: UInt8.self))
                stream.pointee.avail_in = UInt32(clamping: source.count)
                stream.pointee.next_out = target.baseAddress?.advanced(by: offset)
                    .assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(clamping: count)
                let given = (
                    Int(stream.pointee.avail_in), Int(stream.pointee.avail_out)
                )
                let code =
                    isDeflating ? deflate(stream, flush.code) : inflate(stream, Z_NO_FLUSH)
                let consumed = given.0 - Int(stream.pointee.avail_in)
                let produced = given.1 - Int(stream.pointee.avail_out)
                stream.pointee.next_in = nil
                stream.pointee.next_out = nil
                return (Outcome(code), consumed, produced)
            }
        }
    }
}

extension ZStream.Flush {
    fileprivate var code: Int32 {
        switch self {
        case .none: Z_NO_FLUSH
        case .full: Z_FULL_FLUSH
        case .finish: Z_FINISH
        }
    }
}

extension ZStream.Outcome {
    fileprivate init(_ code: Int32) {
        switch code {
        case Z_OK: self = .continues
        case Z_STREAM_END: self = .ended
        case Z_BUF_ERROR: self = .stalled
        case Z_MEM_ERROR: self = .noMemory
        default: self = .damaged
        }
    }
}
