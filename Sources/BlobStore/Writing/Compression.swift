internal import CZlib

/// When payloads are stored compressed, and how: zlib in a gzip container, level 6.
enum Compression {
    /// Media types that shrink, and payloads long enough to gain. Allocates nothing: it is asked for
    /// every publish.
    static func isWorthTrying(_ mediaType: String, byteCount: Int) -> Bool {
        guard byteCount >= StoreLimits.compressedByteCountMin else { return false }
        let essence = MediaType.essence(mediaType.utf8.span.bytes)
        let count = essence.byteCount
        func ends(_ suffix: [UInt8]) -> Bool {
            count >= suffix.count && matches(essence.extracting(last: suffix.count), suffix)
        }
        if count >= text.count, matches(essence.extracting(first: text.count), text) { return true }
        return ends(json) || ends(xml) || shrinking.contains { matches(essence, $0) }
    }

    /// Whether `bytes` are `lowercased`, in upper or lower case.
    private static func matches(_ bytes: RawSpan, _ lowercased: [UInt8]) -> Bool {
        guard bytes.byteCount == lowercased.count else { return false }
        for index in lowercased.indices {
            let byte = bytes.byte(at: index)
            let isUpper = byte >= 0x41 && byte <= 0x5A
            guard (isUpper ? byte | 0x20 : byte) == lowercased[index] else { return false }
        }
        return true
    }

    private static let text = Array("text/".utf8)
    private static let json = Array("+json".utf8)
    private static let xml = Array("+xml".utf8)
    private static let shrinking = [
        "application/json", "application/xml", "application/javascript",
        "application/x-javascript", "application/x-ndjson", "application/wasm",
        "application/rtf", "application/vnd.apple.pkpass.manifest+json", "audio/wav",
        "audio/x-wav", "audio/vnd.wave", "audio/aiff", "audio/x-aiff", "image/bmp",
        "image/x-ms-bmp", "image/tiff", "font/ttf", "font/otf", "model/gltf-binary",
    ].map { Array($0.utf8) }

    /// The bytes in a gzip container, or nil when they do not get smaller by a tenth.
    static func compress(
        _ content: StoredContent, directory: String
    ) throws(StoreError) -> StoredContent? {
        let limit =
            content.byteCount / 100 * StoreLimits.compressedPercentMax
            + content.byteCount % 100 * StoreLimits.compressedPercentMax / 100
        let deflater = try Deflater()
        var result = StoredContent.memory([])
        var output: [UInt8] = []
        var isTooLong = false
        try content.forEachChunk { (_, bytes) throws(StoreError) in
            guard !isTooLong else { return }
            output.removeAll(keepingCapacity: true)
            try deflater.deflate(bytes, isLast: false, into: &output)
            isTooLong = result.byteCount + output.count > limit
            if !isTooLong { try result.append(output.span.bytes, directory: directory) }
        }
        guard !isTooLong else { return nil }
        output.removeAll(keepingCapacity: true)
        try deflater.deflate(RawSpan(), isLast: true, into: &output)
        guard result.byteCount + output.count <= limit else { return nil }
        try result.append(output.span.bytes, directory: directory)
        return result
    }
}

/// zlib's `deflate` over pieces.
final class Deflater {
    private let stream: UnsafeMutablePointer<z_stream>
    private static let level: Int32 = 6
    private static let stepByteCount = 64 << 10

    init() throws(StoreError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 16 + 15: a gzip container and the largest window; 8: zlib's usual memory.
        let code = deflateInit2_(
            stream, Self.level, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else {
            stream.deallocate()
            throw .io(operation: "deflateInit2", errno: 12)
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Appends what comes out for `bytes` to `output`.
    func deflate(_ bytes: RawSpan, isLast: Bool, into output: inout [UInt8]) throws(StoreError) {
        var offset = 0
        while true {
            let start = output.count
            output.append(contentsOf: repeatElement(0, count: Self.stepByteCount))
            let input = bytes.extracting(offset..<bytes.byteCount)
            // Both pointers are used inside this call only, and zlib stays inside the counts it is
            // given.
            let (code, consumed, produced) = input.withUnsafeBytes { source in
                output.withUnsafeMutableBytes { target in
                    stream.pointee.next_in = UnsafeMutablePointer(
                        mutating: source.baseAddress?.assumingMemoryBound(to: UInt8.self))
                    stream.pointee.avail_in = UInt32(source.count)
                    stream.pointee.next_out = target.baseAddress?.advanced(by: start)
                        .assumingMemoryBound(to: UInt8.self)
                    stream.pointee.avail_out = UInt32(Self.stepByteCount)
                    let code = CZlib.deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                    return (
                        code, source.count - Int(stream.pointee.avail_in),
                        Self.stepByteCount - Int(stream.pointee.avail_out)
                    )
                }
            }
            output.removeLast(Self.stepByteCount - produced)
            offset += consumed
            guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else {
                throw .io(operation: "deflate", errno: 5)
            }
            if code == Z_STREAM_END { return }
            // Without room left over, zlib may have more to give; with some, it wants more input.
            if produced < Self.stepByteCount && offset == bytes.byteCount && !isLast { return }
        }
    }
}
