import CZlib

/// Turns a gzip stream that comes in pieces back into bytes as given, in bounded memory: one buffer
/// of 64 KiB and zlib's window. Stands for `inflateInit2`, `inflate` and `inflateEnd`.
///
/// The `z_stream` is on the heap, because zlib keeps a pointer to it, so it must not move.
struct GzipReader: ~Copyable {
    private static let bufferByteCount = 65_536

    private let stream: UnsafeMutablePointer<z_stream>
    private var buffer = [UInt8](repeating: 0, count: GzipReader.bufferByteCount)
    private var isAtEnd = false

    init() throws(ClientError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 16 more than the window's bits: a gzip header and trailer, nothing else.
        let result = inflateInit2_(
            stream, 15 + 16, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
        guard result == Z_OK else {
            throw ClientError.protocolViolation("zlib cannot start (\(result))")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Inflates one piece, and hands on what comes out of it while `sink` takes it.
    mutating func read(
        _ piece: RawSpan, _ sink: (RawSpan) throws(ClientError) -> Void
    ) throws(ClientError) {
        // zlib wants a pointer to mutable bytes for its input but does not write there.
        var input: [UInt8] = []
        piece.withUnsafeBytes { input.append(contentsOf: $0) }
        var used = 0
        var produced = 0
        // Without input left, what did not fit into the buffer of the last round still comes out.
        repeat {
            guard !isAtEnd else {
                throw ClientError.protocolViolation("bytes after the end of a gzip stream")
            }
            var result = Z_OK
            // Both pointers are given to zlib for one call and cleared after it.
            input.withUnsafeMutableBufferPointer { source in
                buffer.withUnsafeMutableBufferPointer { target in
                    stream.pointee.next_in = source.baseAddress.map { $0 + used }
                    stream.pointee.avail_in = UInt32(clamping: source.count - used)
                    stream.pointee.next_out = target.baseAddress
                    stream.pointee.avail_out = UInt32(target.count)
                    result = inflate(stream, Z_NO_FLUSH)
                    used = source.count - Int(stream.pointee.avail_in)
                    produced = target.count - Int(stream.pointee.avail_out)
                    stream.pointee.next_in = nil
                    stream.pointee.next_out = nil
                }
            }
            guard result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR else {
                throw ClientError.protocolViolation("damaged gzip stream (zlib error \(result))")
            }
            if produced > 0 { try sink(buffer.span.bytes.extracting(0..<produced)) }
            isAtEnd = result == Z_STREAM_END
            guard isAtEnd || produced > 0 || used == input.count else {
                throw ClientError.protocolViolation("truncated gzip stream")
            }
        } while used < input.count || (produced == buffer.count && !isAtEnd)
    }

    /// Throws unless the stream has come to its end, its checksum included.
    func finish() throws(ClientError) {
        guard isAtEnd else {
            throw ClientError.protocolViolation("truncated gzip stream")
        }
    }
}

/// A gzip stream that lies in memory as a whole, for programs that read answers byte by byte
/// themselves.
package enum GzipStream {
    /// Inflates a stream in bounded memory and hands on its bytes as given, piece by piece; each
    /// piece is good for the time of the call. Throws `protocolViolation` for what is no gzip
    /// stream, has no end, or has a wrong checksum; what came before the fault has then been handed
    /// on.
    package static func inflate(
        _ bytes: RawSpan, to sink: (RawSpan) -> Void
    ) throws(ClientError) {
        var reader = try GzipReader()
        try reader.read(bytes) { piece in sink(piece) }
        try reader.finish()
    }
}
