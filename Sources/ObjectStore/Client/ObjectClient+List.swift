import Bytes

extension ObjectClient {
    /// A page of the objects whose names begin with a prefix, in the order of their bytes (ListObjectsV2).
    ///
    /// Asked again by itself where the server cannot now. It is what buckets cost most for: ask for names instead where they
    /// are known.
    ///
    /// - Parameter prefix: of names, without the store's prefix: such as `log/`; empty: all of the store.
    package func list(
        _ prefix: String, startAfter: String? = nil, from position: ObjectListPosition? = nil,
        keyCountMax: Int = 1_000
    ) throws(ObjectStoreError) -> ObjectListPage {
        let storePrefix = bucket.url.prefix.isEmpty ? "" : bucket.url.prefix + "/"
        let wholePrefix = storePrefix + prefix
        let after = position == nil ? startAfter.map { storePrefix + $0 } : nil
        var query = [
            ("list-type", "2"), ("encoding-type", "url"), ("prefix", wholePrefix),
            ("max-keys", "\(min(max(keyCountMax, 1), limits.listKeyCountMax))"),
        ]
        if let after { query.append(("start-after", after)) }
        if let position { query.append(("continuation-token", position.token)) }
        let question = Question(
            operation: .list, method: "GET", name: prefix, query: query,
            byteCountMax: limits.listByteCountMax)
        return try attempt(.list) { () throws(ObjectStoreError) in
            try idempotentAttempt(
                question, { HTTPAnswer(limits, byteCountMax: limits.listByteCountMax) }
            ) { (answer) throws(ObjectStoreError) in
                try page(question, answer, wholePrefix, startAfter: after, after: position)
            }
        }
    }

    private func page(
        _ question: Question, _ answer: HTTPAnswer, _ wholePrefix: String, startAfter: String?,
        after position: ObjectListPosition?
    ) throws(ObjectStoreError) -> ObjectListPage {
        guard answer.status == 200, answer.fault == nil else { throw error(question, answer) }
        switch ObjectListPage.parse(
            answer.kept, prefix: wholePrefix,
            droppedByteCount: wholePrefix.utf8.count - question.name.utf8.count,
            startAfter: startAfter)
        {
        case .success(let page):
            guard page.next != position || position == nil else {
                throw bad(question, "a page that names itself as the next")
            }
            return page
        case .failure(let fault):
            let document = ErrorDocument(answer.kept)
            throw bad(question, document.map { "200 with the error \($0.words)" } ?? fault.words)
        }
    }

    /// Removes an object. One that is not there is no error. Asked again by itself where the server cannot now.
    package func delete(_ name: String) throws(ObjectStoreError) {
        let question = Question(
            operation: .delete, method: "DELETE", name: name, key: try bucket.url.key(name),
            byteCountMax: 0)
        try attempt(.delete) { () throws(ObjectStoreError) in
            try idempotentAttempt(
                question, { HTTPAnswer(limits, byteCountMax: limits.errorByteCountMax) }
            ) { (answer) throws(ObjectStoreError) in try requireDeleted(question, answer) }
        }
    }

    private func requireDeleted(
        _ question: Question, _ answer: HTTPAnswer
    ) throws(ObjectStoreError) {
        let document = ErrorDocument(answer.kept)
        if answer.status == 404, document?.code == "NoSuchKey" { return }
        guard answer.status == 200 || answer.status == 204, answer.fault == nil else {
            throw error(question, answer)
        }
        if let document { throw bad(question, "\(answer.status) with the error \(document.words)") }
        guard answer.bodyByteCount == 0 else { throw bad(question, "\(answer.status) with a body") }
    }
}
