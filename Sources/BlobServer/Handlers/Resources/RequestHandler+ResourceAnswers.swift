import BlobProtocol
import BlobStore

// What is answered when the writer is done with a resource's change. The bodies are in ``document``.

extension RequestHandler {
    /// The answer to a change.
    func answer(
        _ reply: ResourceReply, with result: ChangeResult
    ) throws(ProtocolError) -> ResourceAnswer {
        switch (reply, result) {
        case (_, .failed(let error)): throw problem(error)
        case (_, .refused(let error)): throw error
        case (.removed(let thing), .notFound): throw .notFound(thing)
        case (_, .notFound): throw .notFound("notification")
        case (.removed, .deleted):
            document.removeAll(keepingCapacity: true)
            return ResourceAnswer(status: 204)
        case (.published(let isIDAssigned), .published(let record, let created)):
            var answer = compose(record, status: created ? 201 : 200)
            if isIDAssigned { answer.location = Self.path(of: record) }
            return answer
        case (.changed, .changed(let record)), (.changed, .unchanged(let record)):
            return compose(record, status: 200)
        case (.responded, .changed(let record)): return compose(record, status: 201)
        case (.responded, .unchanged(let record)): return compose(record, status: 200)
        case (.held(let isDigestAssigned), .held(let held, let created)):
            document.removeAll(keepingCapacity: true)
            HeldBlobDocument.append(held, to: &document)
            var answer = ResourceAnswer(status: created ? 201 : 200)
            if isDigestAssigned { answer.location = "/v1/blobs/\(held.blob.digest)" }
            return answer
        case (.categorySet, .categorySet(let category, let created)):
            return compose(category, status: created ? 201 : 200)
        case (.groupPatched, .long(let change)):
            composeNumbers(("matched", change.matched), ("changed", change.changed))
            return ResourceAnswer(status: 200)
        case (.ownerDeleted, .long(let change)):
            composeNumbers(("deleted", change.changed))
            return ResourceAnswer(status: 200)
        case (.batch, .lines(let lines)):
            document.removeAll(keepingCapacity: true)
            for line in lines { append(line) }
            return ResourceAnswer(status: 200, mediaType: "application/x-ndjson")
        default:
            throw ProtocolError(.internalError, "the outcome does not match the request")
        }
    }

    /// A record as the answer.
    func compose(_ record: Record, status: UInt16) -> ResourceAnswer {
        document.removeAll(keepingCapacity: true)
        RecordDocument.append(record, to: &document)
        return ResourceAnswer(status: status, revision: record.revision)
    }

    /// A category as the answer.
    func compose(_ category: Category, status: UInt16) -> ResourceAnswer {
        document.removeAll(keepingCapacity: true)
        CategoryDocument.append(category, to: &document)
        return ResourceAnswer(
            status: status, revision: category.revision > 0 ? category.revision : nil)
    }

    private func composeNumbers(_ numbers: (name: String, value: Int)...) {
        var object = NumbersDocument()
        for number in numbers { object.add(number.name, number.value) }
        document = object.finished()
    }

    private static func path(of record: Record) -> String {
        var path = Array("/v1/notifications/".utf8)
        PercentCoding.encode(record.id.utf8.span.bytes, into: &path)
        return String(decoding: path, as: UTF8.self)
    }

    /// A line of a batch's answer: what became of one document.
    private func append(_ line: BatchLine.Answered) {
        document.append("{")
        switch line.result {
        case .published(let record, let created):
            document.append("\"id\":")
            JSONText.append(record.id, to: &document)
            document.append(created ? ",\"status\":201" : ",\"status\":200")
            document.append(",\"revision\":")
            Decimal.append(record.revision, to: &document)
        case .refused(let error): append(error, id: line.id)
        case .failed(let error): append(problem(error), id: line.id)
        default:
            append(
                ProtocolError(.internalError, "the outcome does not match the request"), id: line.id
            )
        }
        document.append("}\n")
    }

    private func append(_ error: ProtocolError, id: String?) {
        counters.count(error.code)
        if let id {
            document.append("\"id\":")
            JSONText.append(id, to: &document)
            document.append(",")
        }
        document.append("\"status\":")
        Decimal.append(UInt64(error.status), to: &document)
        document.append(",\"code\":")
        JSONText.append(error.code.rawValue, to: &document)
        document.append(",\"detail\":")
        JSONText.append(error.detail, to: &document)
    }
}

/// A blob that is kept for a while.
enum HeldBlobDocument {
    /// Appends the document.
    static func append(_ held: HeldBlob, to out: inout [UInt8]) {
        out.append("{\"digest\":\"sha256:")
        held.blob.digest.appendHex(to: &out)
        out.append("\",\"byte_count\":")
        Decimal.append(UInt64(held.blob.byteCount), to: &out)
        out.append(",\"stored_byte_count\":")
        Decimal.append(UInt64(held.blob.storedByteCount), to: &out)
        out.append(",\"coding\":")
        JSONText.append(held.blob.coding.name, to: &out)
        out.append(",\"held_until\":\"")
        RFC3339.append(held.until.milliseconds, to: &out)
        out.append("\"}")
    }
}
