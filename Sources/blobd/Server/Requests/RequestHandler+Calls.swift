import BlobProtocol
import BlobStore

// The binary protocol's `call` and `watch`: HTTP's resources without HTTP.

extension RequestHandler {
    /// Appends the answer to a call, whose body is ``document``.
    func appendCall(
        _ answer: ResourceAnswer, _ frame: RequestFrame, into batch: inout AnswerBatch
    ) {
        let hasBody = answer.status != 204
        var mediaType: [UInt8] = []
        if hasBody { mediaType.append(answer.mediaType) }
        let location = Array((answer.location ?? "").utf8)
        var head: [UInt8] = []
        Call.Response.compose(
            revision: answer.revision ?? 0, mediaType: mediaType.span.bytes,
            location: location.span.bytes, into: &head)
        ResponseFrame(
            answering: frame, status: answer.status, headByteCount: UInt32(head.count),
            bodyByteCount: hasBody ? UInt64(document.count) : 0
        ).compose(into: &batch.heads)
        batch.heads.append(contentsOf: head)
        if hasBody { batch.heads.append(contentsOf: document) }
        batch.endAnswer()
    }
}
