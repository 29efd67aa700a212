import CZlib

/// Bytes in a gzip container with one member, as the program `gzip` makes it.
public func gzipped(_ bytes: [UInt8]) -> [UInt8] { compressed(bytes, windowBits: 15 + 16) }

/// Bytes in a zlib container: the content coding `deflate`.
public func deflated(_ bytes: [UInt8]) -> [UInt8] { compressed(bytes, windowBits: 15) }

private func compressed(_ bytes: [UInt8], windowBits: CInt) -> [UInt8] {
    var stream = z_stream()
    deflateInit2_(
        &stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
        CInt(MemoryLayout<z_stream>.size))
    defer { deflateEnd(&stream) }
    var input = bytes
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
    let count = input.withUnsafeMutableBufferPointer { source in
        output.withUnsafeMutableBufferPointer { target in
            stream.next_in = source.baseAddress
            stream.avail_in = UInt32(source.count)
            stream.next_out = target.baseAddress
            stream.avail_out = UInt32(target.count)
            deflate(&stream, Z_FINISH)
            return target.count - Int(stream.avail_out)
        }
    }
    return Array(output[..<count])
}

/// A text of so many lines, which shrinks when it is compressed.
public func shrinkingText(_ lineCount: Int) -> [UInt8] {
    Array((0..<lineCount).map { "line \($0) of a text that shrinks\n" }.joined().utf8)
}
