import BlobProtocol
import BlobStore
import Bytes

/// Writes the binary protocol's answers, except payloads.
enum BinaryCodec {
    static func append(
        _ response: Answer, _ frame: RequestFrame, continues: Bool = false,
        into batch: inout AnswerBatch
    ) {
        switch response {
        case .document(let document):
            append(document, frame, continues: continues, into: &batch)
        case .published(let record, let name, let created, _):
            guard let part = record.part(named: name) else {
                return append(.problem(.outcomeMismatch), frame, into: &batch)
            }
            append(record, part, created: created, frame, into: &batch)
        case .problem(let error):
            var body: [UInt8] = []
            Problem.compose(error, into: &body)
            append(frame, status: error.status, body: body, into: &batch)
        }
    }

    private static func append(
        _ document: Answer.Document, _ frame: RequestFrame, continues: Bool,
        into batch: inout AnswerBatch
    ) {
        var head: [UInt8] = []
        // The answer to a ping has none.
        if frame.operation == .call {
            var mediaType: [UInt8] = []
            if document.status != 204 { mediaType.append(document.mediaType) }
            Call.Response.compose(
                revision: document.revision ?? 0, mediaType: mediaType.span.bytes,
                location: (document.location ?? "").utf8.span.bytes, into: &head)
        }
        append(
            frame, status: document.status, head: head, body: document.body, continues: continues,
            into: &batch)
    }

    private static func append(
        _ record: Record, _ part: Part, created: Bool, _ frame: RequestFrame,
        into batch: inout AnswerBatch
    ) {
        let id = record.id.utf8.span.bytes
        ResponseFrame(
            answering: frame, status: created ? 201 : 200,
            headByteCount: UInt32(Put.Response.fixedByteCount + id.byteCount)
        ).compose(into: &batch.heads)
        let digest = part.digest.rawBytes
        Put.Response(
            byteCount: UInt64(part.byteCount), storedByteCount: UInt64(part.storedByteCount),
            expiryMilliseconds: record.expiresAt.milliseconds, revision: record.revision,
            coding: part.coding == .gzip ? .gzip : .identity
        ).compose(
            digest: digest.span.bytes, id: id, into: &batch.heads)
        batch.endAnswer()
    }

    private static func append(
        _ frame: RequestFrame, status: UInt16, head: [UInt8] = [], body: [UInt8] = [],
        continues: Bool = false, into batch: inout AnswerBatch
    ) {
        ResponseFrame(
            answering: frame, status: status, headByteCount: UInt32(head.count),
            bodyByteCount: UInt64(body.count), continues: continues
        ).compose(into: &batch.heads)
        batch.heads.append(contentsOf: head)
        batch.heads.append(contentsOf: body)
        batch.endAnswer()
    }

    static func appendHello(
        _ store: StoreID, _ limits: DaemonLimits, _ frame: RequestFrame,
        into batch: inout AnswerBatch
    ) {
        let response = Hello.Response(
            payloadByteCountMax: UInt64(limits.payloadByteCountMax),
            defaultTTLSeconds: UInt64(limits.defaultTTLSeconds),
            ttlSecondsMax: UInt64(limits.ttlSecondsMax))
        var version: [UInt8] = []
        version.append(text: "blobd \(blobdVersion)")
        var storeID: [UInt8] = []
        store.append(to: &storeID)
        var head: [UInt8] = []
        response.compose(
            storeID: storeID.span.bytes, serverVersion: version.span.bytes, into: &head)
        append(frame, status: 200, head: head, into: &batch)
    }
}
