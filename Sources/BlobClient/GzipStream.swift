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
