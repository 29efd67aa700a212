import Bytes

/// What came of a get.
package enum GetOutcome: Sendable, Equatable {
    case found([UInt8])
    /// The server says that there is no such object.
    case absent
}

extension ObjectClient {
    /// Reads an object, or a range of it.
    ///
    /// - Parameters:
    ///   - name: without the store's prefix.
    ///   - range: of its bytes; nil: all. It must not be empty. One that ends behind the object is cut there by the server.
    ///   - byteCountMax: the most that is accepted; past it ``ObjectStoreError/Kind/tooLarge``.
    package func get(
        _ name: String, range: Range<Int>? = nil, byteCountMax: Int
    ) throws(ObjectStoreError) -> GetOutcome {
        var bytes: [UInt8] = []
        let isFound = try get(name, range: range, byteCountMax: byteCountMax) { piece in
            bytes.append(contentsOf: piece)
            return true
        }
        return isFound ? .found(bytes) : .absent
    }

    /// The same in pieces, as they come. Where the connection is cut, another attempt asks for what is missing: objects of
    /// a name are never others.
    ///
    /// - Parameters:
    ///   - name: without the store's prefix.
    ///   - range: of its bytes; nil: all.
    ///   - byteCountMax: the most that is accepted.
    ///   - take: takes a piece of at most 64 KiB. False: no more, and this returns.
    /// - Returns: whether there is such an object.
    package func get(
        _ name: String, range: Range<Int>? = nil, byteCountMax: Int, _ take: (RawSpan) -> Bool
    ) throws(ObjectStoreError) -> Bool {
        precondition(range.map { $0.lowerBound >= 0 && !$0.isEmpty } ?? true)
        let key = try bucket.url.key(name)
        // The closure is kept by the answers, which do not outlive this call.
        return try withoutActuallyEscaping(take) { take throws(ObjectStoreError) in
            try read(name, key, GetProgress(range), byteCountMax, take)
        }
    }

    private func read(
        _ name: String, _ key: String, _ progress: GetProgress, _ byteCountMax: Int,
        _ take: @escaping (RawSpan) -> Bool
    ) throws(ObjectStoreError) -> Bool {
        try attempt(.get) { () throws(ObjectStoreError) in
            let question = Question(
                operation: .get, method: "GET", name: name, key: key,
                headers: progress.header.map { [("Range", $0)] } ?? [], byteCountMax: byteCountMax)
            return try idempotentAttempt(
                question,
                {
                    HTTPAnswer(
                        limits, byteCountMax: byteCountMax - progress.receivedByteCount,
                        sink: { piece in
                            progress.receivedByteCount += piece.byteCount
                            return take(piece)
                        }, headFault: progress.fault)
                }
            ) { (answer) throws(ObjectStoreError) in try isFound(question, answer, progress) }
        }
    }

    /// What an answer says.
    private func isFound(
        _ question: Question, _ answer: HTTPAnswer, _ progress: GetProgress
    ) throws(ObjectStoreError) -> Bool {
        let document = ErrorDocument(answer.kept)
        switch answer.status {
        case 200, 206:
            if answer.fault == .refused { return true }
            if answer.fault != nil { throw error(question, answer) }
            guard !answer.isDocument else {
                let what = document.map { "the error \($0.words)" } ?? "a page, which no object is"
                throw bad(question, "\(answer.status) with \(what)")
            }
            // No object here is empty. A proxy's success without a body would pass for one.
            guard progress.receivedByteCount > 0 else {
                throw bad(question, "\(answer.status) without a body")
            }
            return true
        // A 404 of anyone else, such as a proxy, says nothing of the object.
        case 404 where document?.code == "NoSuchKey" && progress.receivedByteCount == 0:
            return false
        default: throw error(question, answer)
        }
    }
}

/// How much of an object has come, over all attempts.
private final class GetProgress {
    private let range: Range<Int>?
    var receivedByteCount = 0
    /// The whole object's, once an answer has said it.
    private var objectByteCount: Int?

    init(_ range: Range<Int>?) { self.range = range }

    private var start: Int { (range?.lowerBound ?? 0) + receivedByteCount }

    /// The `Range` of what is missing; nil: all.
    var header: String? {
        if range == nil && receivedByteCount == 0 { return nil }
        return "bytes=\(start)-\(range.map { "\($0.upperBound - 1)" } ?? "")"
    }

    /// What is wrong with the head of a success: another range than asked for, or another object than before.
    func fault(_ answer: HTTPAnswer) -> String? {
        let total: Int?
        if header == nil {
            guard answer.status == 200 else { return "206, but no range was asked for" }
            total = answer.contentLength
        } else {
            guard answer.status == 206 else { return "200: the range was ignored" }
            let text = answer["content-range"] ?? ""
            guard let came = ContentRange(text), came.range.lowerBound == start,
                came.range.upperBound == min(range?.upperBound ?? .max, came.total),
                answer.contentLength.map({ $0 == came.range.count }) ?? true
            else {
                return "the range \"\(ObjectText.line(text))\" for \(header ?? "all")"
            }
            total = came.total
        }
        if let objectByteCount, let total, total != objectByteCount {
            return "an object of \(total) bytes, which had \(objectByteCount) before"
        }
        objectByteCount = objectByteCount ?? total
        return nil
    }
}
