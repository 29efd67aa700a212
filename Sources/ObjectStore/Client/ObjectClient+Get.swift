import Bytes

extension ObjectClient {
    /// Reads an object; nil where the server says that there is none. Where the connection is cut, another attempt asks
    /// for what is missing: objects of a name are never others.
    ///
    /// - Parameter byteCountMax: the most that is accepted; past it ``ObjectStoreError/Kind/tooLarge``.
    package func get(_ name: String, byteCountMax: Int) throws(ObjectStoreError) -> [UInt8]? {
        let key = try bucket.url.key(name)
        let object = ReceivedObject()
        return try attempt(.get) { () throws(ObjectStoreError) in
            let question = Question(
                operation: .get, method: "GET", name: name, key: key,
                headers: object.range.map { [("Range", $0)] } ?? [], byteCountMax: byteCountMax)
            return try idempotentAttempt(
                question,
                {
                    HTTPAnswer(
                        limits, byteCountMax: byteCountMax - object.bytes.count,
                        sink: { object.bytes.append(contentsOf: $0) }, headFault: object.fault)
                }
            ) { (answer) throws(ObjectStoreError) in
                try isFound(question, answer, object) ? object.bytes : nil
            }
        }
    }

    private func isFound(
        _ question: Question, _ answer: HTTPAnswer, _ object: ReceivedObject
    ) throws(ObjectStoreError) -> Bool {
        let document = ErrorDocument(answer.kept)
        switch answer.status {
        case 200, 206:
            if answer.fault != nil { throw error(question, answer) }
            guard !answer.isDocument else {
                let what = document.map { "the error \($0.words)" } ?? "a page instead of an object"
                throw bad(question, "\(answer.status) with \(what)")
            }
            // No object here is empty. A proxy's success without a body would pass for one.
            guard !object.bytes.isEmpty else {
                throw bad(question, "\(answer.status) without a body")
            }
            return true
        // A 404 of anyone else, such as a proxy, says nothing of the object.
        case 404 where document?.code == "NoSuchKey" && object.bytes.isEmpty: return false
        default: throw error(question, answer)
        }
    }
}

private final class ReceivedObject {
    var bytes: [UInt8] = []
    private var byteCount: Int?

    /// The `Range` of what is missing; nil: all.
    var range: String? { bytes.isEmpty ? nil : "bytes=\(bytes.count)-" }

    /// What is wrong with the head of a success: another range than asked for, or another object than before.
    func fault(_ answer: HTTPAnswer) -> String? {
        let total: Int?
        if let range {
            guard answer.status == 206 else { return "200: the range was ignored" }
            let text = answer["content-range"] ?? ""
            guard let came = ContentRange(text), came.range == bytes.count..<came.total,
                answer.contentLength.map({ $0 == came.range.count }) ?? true
            else { return "the range \"\(ObjectText.line(text))\" for \(range)" }
            total = came.total
        } else {
            guard answer.status == 200 else { return "206, but no range was requested" }
            total = answer.contentLength
        }
        if let byteCount, let total, total != byteCount {
            return "an object of \(total) bytes instead of \(byteCount)"
        }
        byteCount = byteCount ?? total
        return nil
    }
}
