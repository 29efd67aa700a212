import BlobProtocol
import BlobStore

// Answers of the binary protocol but payloads: they are short, and most are written once something
// else is done.

extension RequestHandler {
    func appendHello(_ frame: RequestFrame, into batch: inout AnswerBatch) {
        let response = Hello.Response(
            payloadByteCountMax: UInt64(limits.payloadByteCountMax),
            defaultTTLSeconds: UInt64(limits.defaultTTLSeconds),
            ttlSecondsMax: UInt64(limits.ttlSecondsMax))
        var version: [UInt8] = []
        version.append(text: "blobd \(blobdVersion)")
        var storeID: [UInt8] = []
        store.id.append(to: &storeID)
        var head: [UInt8] = []
        response.compose(
            storeID: storeID.span.bytes, serverVersion: version.span.bytes, into: &head)
        ResponseFrame(answering: frame, status: 200, headByteCount: UInt32(head.count))
            .compose(into: &batch.heads)
        batch.heads.append(contentsOf: head)
        batch.endAnswer()
    }

    /// Answers a frame whose outcome is now known.
    func answerBinary(
        _ frame: RequestFrame, _ request: PendingReply.Request, with result: ChangeResult,
        into batch: inout AnswerBatch
    ) {
        switch (result, request) {
        case (_, .resource(let reply)):
            do throws(ProtocolError) {
                appendCall(try answer(reply, with: result), frame, into: &batch)
            } catch {
                appendProblem(error, frame, into: &batch)
            }
            return
        case (.published(let record, let created), .publish(let name, _)):
            guard let part = record.part(named: name) else { break }
            appendPublished(record, part, created: created, frame, into: &batch)
            return
        case (.deleted, _):
            append(frame, status: 204, body: [], into: &batch)
            return
        case (.notFound, _):
            appendProblem(.notFound("notification"), frame, into: &batch)
            return
        case (.writable, .check(let echo)):
            append(frame, status: 200, body: echo, into: &batch)
            return
        case (.failed(let error), _):
            appendProblem(problem(error), frame, into: &batch)
            return
        default: break
        }
        appendProblem(
            ProtocolError(.internalError, "the outcome does not match the request"), frame,
            into: &batch)
    }

    private func appendPublished(
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

    /// Appends an answer without a head.
    func append(
        _ frame: RequestFrame, status: UInt16, body: [UInt8], into batch: inout AnswerBatch
    ) {
        ResponseFrame(answering: frame, status: status, bodyByteCount: UInt64(body.count))
            .compose(into: &batch.heads)
        batch.heads.append(contentsOf: body)
        batch.endAnswer()
    }

    /// Appends an error's answer.
    func appendProblem(
        _ error: ProtocolError, _ frame: RequestFrame, into batch: inout AnswerBatch
    ) {
        counters.count(error.code)
        document.removeAll(keepingCapacity: true)
        Problem.compose(error, into: &document)
        append(frame, status: error.status, body: document, into: &batch)
    }
}
