import BlobProtocol
import BlobStore

extension RequestHandler {
    /// Answers the frame at the start of `bytes` when it is a plain fetch of all of a payload, in the coding in which
    /// it is kept, and that is there. Returns how many bytes were used. 0: nothing was done, and
    /// ``next(_:of:in:into:consumed:)`` has to answer.
    @inline(__always)
    func answerPlainGet(
        _ bytes: RawSpan, of connection: inout Session, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch
    ) -> Int {
        guard connection.isGreeted, let get = PlainGet(bytes) else { return 0 }
        let id = get.id.of(bytes)
        guard case .ready = store.readiness(of: .notification, id, in: snapshot) else { return 0 }
        do throws(StoreError) {
            guard
                case .found(let payload) = try snapshot.payload(
                    for: id, part: RawSpan(), asOf: now)
            else { return 0 }
            let blob = payload.blob
            guard blob.storedByteCount > 0, blob.coding == .identity || get.acceptsGzip,
                payload.mediaType.byteCount > 0,
                payload.mediaType.byteCount <= WireLimits.mediaTypeByteCountMax
            else { return 0 }
            try batch.map(payload)
            let digest = blob.digest.rawBytes
            Get.Response(
                byteCount: UInt64(blob.byteCount),
                expiryMilliseconds: payload.expiresAt.milliseconds, revision: payload.revision,
                createdMilliseconds: payload.createdAt.milliseconds,
                coding: blob.coding == .gzip ? .gzip : .identity
            ).compose(
                answering: RequestFrame(
                    .get, requestID: get.requestID, headByteCount: 0, bodyByteCount: 0),
                status: 200, bodyByteCount: UInt64(blob.storedByteCount),
                digest: digest.span.bytes, mediaType: payload.mediaType, into: &batch.heads)
            batch.endAnswer(
                .stored(StoredRange(blob: blob, from: 0, upTo: blob.storedByteCount)),
                isFetch: true)
        } catch {
            // What is wrong is found again, noted and said by ``next(_:of:in:into:consumed:)``.
            return 0
        }
        requests.fetches.add()
        connection.wait = .none
        return get.byteCount
    }

    /// Appends a payload's answer, and returns its status: 200 or 206.
    func appendPayload(
        _ lookup: PayloadLookup, _ request: BinaryRequest, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch
    ) throws(FetchFailure) -> UInt16 {
        let frame = request.frame
        let isHeadOnly = frame.flags.contains(.headOnly)
        switch lookup {
        case .missing: throw .refused(.notFound("notification or part"))
        case .expired(let moment): throw .refused(.expired("payload", at: moment))
        case .found(let payload):
            let blob = payload.blob
            var selection = Selection.whole(
                blob, acceptsGzip: frame.flags.contains(.gzipAccepted))
            do throws(ProtocolError) {
                let range = try WireRange.parse(request.head, flags: frame.flags, .get)
                if let range, case .from(let first, _) = range {
                    selection = try selection.narrowed(
                        to: range.resolve(byteCount: UInt64(blob.byteCount)), of: blob,
                        beginning: "at byte \(first)")
                }
            } catch {
                throw .refused(error)
            }
            let body: BatchedAnswer.Body = isHeadOnly ? .none : selection.body(of: blob)
            try map(body, of: payload, into: &batch, in: snapshot)
            let response = Get.Response(
                byteCount: UInt64(blob.byteCount), first: UInt64(selection.lower),
                // A blob has no expiry of its own: it stays as long as a notification has it.
                expiryMilliseconds: frame.operation == .get
                    ? payload.expiresAt.milliseconds : 0,
                revision: payload.revision,
                createdMilliseconds: payload.createdAt.milliseconds,
                coding: selection.coding == .gzip ? .gzip : .identity)
            let digest = blob.digest.rawBytes
            let bodyByteCount = isHeadOnly ? 0 : UInt64(selection.byteCount)
            response.compose(
                answering: frame, status: selection.status, bodyByteCount: bodyByteCount,
                digest: digest.span.bytes, mediaType: payload.servedMediaType,
                into: &batch.heads)
            batch.endAnswer(body, isFetch: true)
            return selection.status
        }
    }
}
