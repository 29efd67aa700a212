internal import Bytes
internal import Notifications
internal import Zlib

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

    /// The bytes in a gzip container with restart points; nil when they do not get smaller by a tenth.
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

final class Deflater {
    private let stream: ZStream
    private static let level: Int32 = 6
    private static let stepByteCount = 64 << 10

    /// - Parameter extraField: of the gzip header; empty for none.
    init(extraField: [UInt8] = []) throws(StoreError) {
        do throws(ZStream.NoMemory) {
            stream = try ZStream(deflatingAt: Self.level, extraField: extraField)
        } catch {
            throw .io(operation: "deflateInit2", errno: 12)
        }
    }

    func deflate(
        _ bytes: RawSpan, _ flush: ZStream.Flush, into output: inout [UInt8]
    ) throws(StoreError) {
        var offset = 0
        while true {
            let start = output.count
            output.appendZeros(Self.stepByteCount)
            let (outcome, consumed, produced) = stream.run(
                bytes.extracting(offset..<bytes.byteCount), flush, into: &output, at: start,
                count: Self.stepByteCount)
            output.removeLast(Self.stepByteCount - produced)
            offset += consumed
            switch outcome {
            case .ended: return
            case .noMemory, .damaged: throw .io(operation: "deflate", errno: 5)
            case .continues, .stalled: break
            }
            // Without room left over, zlib may have more to give; with some, it wants more input.
            if produced < Self.stepByteCount, offset == bytes.byteCount, flush != .finish { return }
        }
    }
}
