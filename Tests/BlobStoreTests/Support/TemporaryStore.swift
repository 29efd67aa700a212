import BlobStore
import TestSupport

extension TemporaryFolder {
    func open(_ change: (inout BlobStore.Options) -> Void = { _ in }) throws -> BlobStore {
        var options = BlobStore.Options()
        options.mapByteCountMax = 1 << 30
        change(&options)
        return try BlobStore.open(at: path, options: options)
    }
}

/// A moment tests call the present.
let noon = Timestamp(milliseconds: 1_800_000_000_000)

extension BlobStore {
    func prepare(
        _ bytes: [UInt8], mediaType: String = "application/octet-stream"
    ) throws -> PreparedPayload {
        var writer = makePayloadWriter()
        try writer.append(bytes.span.bytes)
        return try writer.finish(mediaType: mediaType)
    }

    @discardableResult
    func put(
        _ id: String?, _ bytes: [UInt8], part: String = "payload",
        mediaType: String = "application/octet-stream", seconds: Int64 = 3_600,
        asOf now: Timestamp = noon
    ) throws -> Record {
        try publish(
            Publication(
                id: id, part: part, payload: try prepare(bytes, mediaType: mediaType),
                expiry: .at(now.adding(seconds: seconds))), asOf: now)
    }
}
