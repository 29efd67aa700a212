internal import Bytes
internal import CZlib
internal import Notifications

/// When payloads are stored compressed, and how: zlib in a gzip container, level 6.
enum Compression {
    /// Media types that shrink, and payloads long enough to gain. Allocates nothing: it is asked for
    /// every publish.
    static func isWorthTrying(_ mediaType: String, byteCount: Int) -> Bool {
        guard byteCount >= StoreLimits.compressedByteCountMin else { return false }
        let essence = MediaType.essence(mediaType.utf8.span.bytes)
        func ends(_ suffix: StaticString) -> Bool {
            let count = suffix.utf8CodeUnitCount
            return essence.byteCount >= count
                && essence.containsIgnoringCase(suffix, at: essence.byteCount - count)
        }
        return essence.hasPrefixIgnoringCase("text/") || ends("+json") || ends("+xml")
            || shrinking.contains { essence.equalsIgnoringCase($0) }
    }

    private static let shrinking: [StaticString] = [
        "application/json", "application/xml", "application/javascript",
        "application/x-javascript", "application/x-ndjson", "application/wasm",
        "application/rtf", "application/vnd.apple.pkpass.manifest+json", "audio/wav",
        "audio/x-wav", "audio/vnd.wave", "audio/aiff", "audio/x-aiff", "image/bmp",
        "image/x-ms-bmp", "image/tiff", "font/ttf", "font/otf", "model/gltf-binary",
    ]

    /// The most bytes that a coding of `byteCount` bytes may have to be kept.
    static func byteCountMax(of byteCount: Int) -> Int {
        byteCount / 100 * StoreLimits.compressedPercentMax
            + byteCount % 100 * StoreLimits.compressedPercentMax / 100
    }

    /// The bytes in a gzip container, with a restart point each MiB (``RestartPoints``), or nil when
    /// they do not get smaller by a tenth.
    static func compress(
        _ content: StoredContent, directory: String
    ) throws(StoreError) -> StoredContent? {
        let limit = byteCountMax(of: content.byteCount)
        let points = RestartPoints(byteCount: content.byteCount)
        let deflater = try Deflater(extraField: points.count > 0 ? points.emptyField : [])
        var offsets: [Int] = []
        var result = StoredContent.memory([])
        var output: [UInt8] = []
        var isTooLong = false
        var position = 0
        try content.forEachChunk { (_, chunk) throws(StoreError) in
            guard !isTooLong else { return }
            let bytes = chunk.span.bytes
            output.removeAll(keepingCapacity: true)
            var used = 0
            while used < bytes.byteCount {
                let room = points.interval - position % points.interval
                let piece = bytes.extracting(used..<min(used + room, bytes.byteCount))
                used += piece.byteCount
                position += piece.byteCount
                let isAtPoint =
                    position % points.interval == 0 && position < content.byteCount
                try deflater.deflate(piece, isAtPoint ? .full : .none, into: &output)
                if isAtPoint { offsets.append(result.byteCount + output.count) }
            }
            isTooLong = result.byteCount + output.count > limit
            if !isTooLong { try result.append(output.span.bytes, directory: directory) }
        }
        guard !isTooLong else { return nil }
        output.removeAll(keepingCapacity: true)
        try deflater.deflate(RawSpan(), .finish, into: &output)
        guard result.byteCount + output.count <= limit else { return nil }
        try result.append(output.span.bytes, directory: directory)
        if !offsets.isEmpty {
            try result.replace(
                at: RestartPoints.headerByteCount, with: RestartPoints.bytes(offsets).span.bytes)
        }
        return result
    }
}

/// zlib's `deflate` over pieces.
final class Deflater {
    private let stream: UnsafeMutablePointer<z_stream>
    /// What zlib writes of the gzip header besides the usual, and the field that this points to. It
    /// reads both while the first bytes come out.
    private let header: UnsafeMutablePointer<gz_header>
    private let field: UnsafeMutableBufferPointer<UInt8>
    private static let level: Int32 = 6
    private static let stepByteCount = 64 << 10

    /// What is done behind the bytes of a call.
    enum Flush {
        /// Nothing.
        case none
        /// All of them come out, and what comes later refers to none of them.
        case full
        /// The stream ends.
        case finish

        fileprivate var code: Int32 {
            switch self {
            case .none: Z_NO_FLUSH
            case .full: Z_FULL_FLUSH
            case .finish: Z_FINISH
            }
        }
    }

    /// - Parameter extraField: of the gzip header; empty for none.
    init(extraField: [UInt8] = []) throws(StoreError) {
        stream = .allocate(capacity: 1)
        header = .allocate(capacity: 1)
        header.initialize(to: gz_header())
        field = .allocate(capacity: extraField.count)
        _ = field.initialize(from: extraField)
        stream.initialize(to: z_stream())
        // 16 + 15: a gzip container and the largest window; 8: zlib's usual memory.
        let code = deflateInit2_(
            stream, Self.level, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else {
            stream.deallocate()
            header.deallocate()
            field.deallocate()
            throw .io(operation: "deflateInit2", errno: 12)
        }
        if !extraField.isEmpty {
            header.pointee.os = 3
            header.pointee.extra = field.baseAddress
            header.pointee.extra_len = UInt32(field.count)
            deflateSetHeader(stream, header)
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        header.deallocate()
        field.deallocate()
    }

    /// Appends what comes out for `bytes` to `output`.
    func deflate(
        _ bytes: RawSpan, _ flush: Flush, into output: inout [UInt8]
    ) throws(StoreError) {
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
                    let code = CZlib.deflate(stream, flush.code)
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
            if produced < Self.stepByteCount, offset == bytes.byteCount, flush != .finish { return }
        }
    }
}
