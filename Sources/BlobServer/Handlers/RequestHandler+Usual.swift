import BlobProtocol
import BlobStore

// The usual fetch, in either dialect: all of a payload that is there, as it is kept.

extension RequestHandler {
    /// Appends the answer to the usual fetch. The dialect's own way would append the same.
    ///
    /// - Parameters:
    ///   - id: the notification's id, as UTF-8.
    ///   - acceptsGzip: whether the bytes may be a gzip stream.
    ///   - appendHead: appends what stands before the bytes of the payload that was found.
    /// - Returns: false when the answer is another one, such as an error; the batch is then as it
    ///   was.
    @inline(__always)
    func appendUsual(
        _ id: RawSpan, acceptsGzip: Bool, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch,
        _ appendHead: (Payload, StoredRange, inout AnswerBatch) -> Void
    ) -> Bool {
        // Where it may be about to change, whoever answers anything has it wait.
        guard !store.unsettled.mayContain(id), snapshot.isCurrent else { return false }
        do throws(StoreError) {
            guard
                case .found(let payload) = try snapshot.payload(
                    for: id, part: RawSpan(), asOf: now)
            else { return false }
            let blob = payload.blob
            guard blob.storedByteCount > 0, blob.coding == .identity || acceptsGzip,
                payload.mediaType.byteCount > 0,
                payload.mediaType.byteCount <= WireLimits.mediaTypeByteCountMax
            else { return false }
            let range = StoredRange(blob: blob, from: 0, upTo: blob.storedByteCount)
            try batch.map(payload)
            appendHead(payload, range, &batch)
            batch.endAnswer(.stored(range))
            return true
        } catch {
            // What is wrong is found again, noted and said by who answers anything.
            return false
        }
    }
}
