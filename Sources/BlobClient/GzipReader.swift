import Zlib

/// Turns a gzip stream that comes in pieces back into bytes as given, in bounded memory: one buffer
/// of 64 KiB and zlib's window.
struct GzipReader: ~Copyable {
    private static let bufferByteCount = 65_536

    private let stream: ZStream
    private var buffer = [UInt8](repeating: 0, count: GzipReader.bufferByteCount)
    private var isAtEnd = false

    init() throws(ClientError) {
        do throws(ZStream.NoMemory) {
            stream = try ZStream(inflating: .gzip)
        } catch {
            throw ClientError.protocolViolation("zlib has no memory")
        }
    }

    /// Inflates one piece, and hands on what comes out of it while `sink` takes it.
    mutating func read(
        _ piece: RawSpan, _ sink: (RawSpan) throws(ClientError) -> Void
    ) throws(ClientError) {
        var used = 0
        while used < piece.byteCount {
            guard !isAtEnd else {
                throw ClientError.protocolViolation("bytes after the end of a gzip stream")
            }
            let rest = piece.extracting(used..<piece.byteCount)
            let (outcome, consumed, produced) = stream.run(
                rest, into: &buffer, count: buffer.count)
            used += consumed
            guard outcome != .damaged, outcome != .noMemory else {
                throw ClientError.protocolViolation("damaged gzip stream")
            }
            if produced > 0 { try sink(buffer.span.bytes.extracting(0..<produced)) }
            isAtEnd = outcome == .ended
            guard isAtEnd || produced > 0 || used == piece.byteCount else {
                throw ClientError.protocolViolation("truncated gzip stream")
            }
        }
        // What fits no more into the buffer of the last round comes out without further input.
        while !isAtEnd {
            let (outcome, _, produced) = stream.run(RawSpan(), into: &buffer, count: buffer.count)
            isAtEnd = outcome == .ended
            guard produced > 0 else { break }
            try sink(buffer.span.bytes.extracting(0..<produced))
        }
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
