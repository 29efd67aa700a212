import BlobProtocol
import BlobStore
import Bytes
import Notifications

// An HTTP request's way: its head is read, what it reads must be committed, and then it is answered.

extension RequestHandler {
    /// Answers the HTTP request at the start of `bytes`.
    func nextHTTP(
        _ bytes: RawSpan, of connection: inout Session, _ wait: Session.Wait,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        var head = HTTPRequestHead()
        do throws(ProtocolError) {
            guard let count = try head.read(bytes, resuming: &connection.headScanner) else {
                return .needsInput
            }
            consumed = count
        } catch {
            respond(.problem(error), .http(.last, observer.unknown(connection)), into: &batch)
            return .answeredThenClose
        }
        if isFollowing, let step = behind(head, bytes, wait, of: connection, into: &batch) {
            if case .retryBehind = step { consumed = 0 }
            return step
        }
        return answer(
            head, bytes, wait, of: connection, in: snapshot, into: &batch, consumed: &consumed)
    }

    /// Answers the request that has a head. It borrows the head, of which nobody else has to make a
    /// copy then (30 instructions each).
    @inline(never)
    private func answer(
        _ head: HTTPRequestHead, _ bytes: RawSpan, _ wait: Session.Wait, of connection: Session,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        let form = HTTPForm(head, isStopping: isStopping)
        // Names that are percent-encoded, decoded.
        var decoded: [UInt8] = []
        let request: Request
        do throws(ProtocolError) {
            request = try self.request(
                head, bytes, isDevice: connection.isDevice, decoding: &decoded)
        } catch {
            let entry = entry(.unknown, head, bytes, of: connection)
            return refuse(error, head, bytes, form, entry, into: &batch)
        }
        let names = decoded.span.bytes
        let text = names.byteCount == 0 ? head.path.of(bytes) : names
        if let retry = retry(request, text, wait, in: snapshot) {
            consumed = 0
            return retry
        }
        if wait == .inVain {
            let entry = entry(request.operation, head, bytes, of: connection)
            var last = form
            last.keepAlive = false
            return refuse(.stopping, head, bytes, last, entry, into: &batch)
        }
        switch request {
        case .fetch(let key):
            do throws(FetchFailure) {
                let status = try appendPayload(
                    try payload(key, text, in: snapshot), head, bytes, form, in: snapshot,
                    into: &batch)
                requests.countFetch(status: status)
                if observer.logsRequests {
                    observer.logFetch(
                        LoggedRequest(head, bytes, connection), status: status, batch)
                }
                return form.step(after: head)
            } catch {
                let step = follow(error, head, bytes, form, of: connection, into: &batch)
                if case .retryWithBlob = step { consumed = 0 }
                return step
            }
        case .perform(let action):
            return perform(
                action, text, head, bytes, form, of: connection, in: snapshot, into: &batch)
        }
    }

    /// Does what is no fetch. Apart from those, so that what a fetch needs stays in one function.
    @inline(never)
    private func perform(
        _ action: Action, _ text: RawSpan, _ head: HTTPRequestHead, _ bytes: RawSpan,
        _ form: HTTPForm, of connection: Session, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch
    ) -> Step {
        let entry = entry(action.operation, head, bytes, of: connection)
        do throws(ProtocolError) {
            let step = try perform(action, text, in: snapshot)
            return try follow(step, head, bytes, form, entry, into: &batch)
        } catch {
            return refuse(error, head, bytes, form, entry, into: &batch)
        }
    }

    /// Says why a payload is not sent, or waits for it.
    @inline(never)
    private func follow(
        _ failure: FetchFailure, _ head: HTTPRequestHead, _ bytes: RawSpan, _ form: HTTPForm,
        of connection: Session, into batch: inout AnswerBatch
    ) -> Step {
        do throws(ProtocolError) {
            return try step(after: failure)
        } catch {
            let entry = entry(.fetch, head, bytes, of: connection)
            return refuse(error, head, bytes, form, entry, into: &batch)
        }
    }

    /// What to do with a request of a follower's client that has seen more than the follower has; nil: answer it.
    @inline(never)
    private func behind(
        _ head: HTTPRequestHead, _ bytes: RawSpan, _ wait: Session.Wait, of connection: Session,
        into batch: inout AnswerBatch
    ) -> Step? {
        do throws(ProtocolError) {
            return try missing(head, bytes, hasWaited: wait != .none).map { .retryBehind($0) }
        } catch {
            let form = HTTPForm(head, isStopping: isStopping)
            let entry = entry(.unknown, head, bytes, of: connection)
            return refuse(error, head, bytes, form, entry, into: &batch)
        }
    }

    private func entry(
        _ operation: Operation, _ head: HTTPRequestHead, _ bytes: RawSpan, of connection: Session
    ) -> RequestEntry {
        observer.entry(operation, LoggedRequest(head, bytes, connection))
    }

    /// Writes the answer, or hands on what has to be done first.
    private func follow(
        _ step: ActionStep, _ head: HTTPRequestHead, _ bytes: RawSpan, _ form: HTTPForm,
        _ entry: RequestEntry, into batch: inout AnswerBatch
    ) throws(ProtocolError) -> Step {
        var step = step
        switch step {
        case .respond(let response): step = .respond(response.known(to: head, bytes))
        case .subscribe where form.isHead:
            http.appendEventsHead(form, into: &batch)
            observer.note(entry, status: 200, nil, batch)
            return form.step(after: head)
        case .sendBackup where form.isHead:
            http.appendBackupHead(form, into: &batch)
            observer.note(entry, status: 200, nil, batch)
            return form.step(after: head)
        case .sendBackup: return .sendBackup(form, entry)
        default: break
        }
        var reply = PendingReply.Form.http(form, entry)
        switch step {
        case .write, .receiveBody: reply.acknowledgement = try acknowledgement(head, bytes)
        default: break
        }
        let next = try follow(
            step, HTTPCodec.framing(of: head), reply,
            expectsContinue: head.expectsContinue,
            into: &batch)
        if case .answered = next { return form.step(after: head) }
        return next
    }

    private func refuse(
        _ error: ProtocolError, _ head: HTTPRequestHead, _ bytes: RawSpan, _ form: HTTPForm,
        _ entry: RequestEntry, into batch: inout AnswerBatch
    ) -> Step {
        var form = form
        // A body that is not read here is the last thing this connection says.
        if head.skippedBodyByteCount == nil || error.code == .payloadTooLarge {
            form.keepAlive = false
        }
        respond(
            .problem(error), .http(form, entry), hint: AnswerHint(error, head, bytes), into: &batch)
        return form.step(after: head)
    }
}

extension HTTPForm {
    /// How a request is answered; one that may be the last, if its body is too long to be thrown
    /// away.
    @inline(__always)
    fileprivate init(_ head: HTTPRequestHead, isStopping: Bool) {
        let storesBody = head.method == .put || head.method == .post || head.method == .patch
        self.init(
            keepAlive: head.keepAlive && !isStopping
                && (storesBody || head.skippedBodyByteCount != nil),
            isHTTP10: head.minorVersion == 0, isHead: head.method == .head)
    }

    /// What comes behind an answer that did not need the body.
    @inline(__always)
    fileprivate func step(after head: HTTPRequestHead) -> RequestHandler.Step {
        guard keepAlive, let count = head.skippedBodyByteCount else { return .answeredThenClose }
        return count == 0 ? .answered : .answeredThenSkip(count)
    }
}

extension HTTPRequestHead {
    /// A body that comes with a refused request is skipped up to this size, in bytes; otherwise the connection is closed.
    private static let skippedBodyByteCountMax: UInt64 = 64 << 10

    /// How many bytes of body to throw away after an answer that did not need it; nil when the
    /// connection rather ends: for a long or chunked one, and when the client waits for our word
    /// before it sends it.
    fileprivate var skippedBodyByteCount: UInt64? {
        @inline(__always)
        get {
            guard hasBody else { return 0 }
            guard !isChunked, !expectsContinue, let count = contentLength,
                count <= Self.skippedBodyByteCountMax
            else { return nil }
            return count
        }
    }
}

extension Response {
    /// 304 where `If-None-Match` names the record that is answered (RFC 9110, section 13.1.2).
    fileprivate func known(to head: HTTPRequestHead, _ bytes: RawSpan) -> Response {
        guard !head.ifNoneMatch.isEmpty, case .document(var document) = self,
            let revision = document.revision
        else { return self }
        var tag: [UInt8] = []
        RevisionTags.append(revision, to: &tag)
        guard EntityTags.matchesWeakly(head.ifNoneMatch, in: bytes, tag: tag.span.bytes) else {
            return self
        }
        document.status = 304
        return .document(document)
    }
}

extension RequestHandler {
    /// What a head asks for.
    ///
    /// - Parameter names: is filled with names that are percent-encoded; then the slices are of it,
    ///   else of the path.
    @inline(__always)
    private func request(
        _ head: HTTPRequestHead, _ bytes: RawSpan, isDevice: Bool, decoding names: inout [UInt8]
    ) throws(ProtocolError) -> Request {
        let path = head.path.of(bytes)
        if head.method == .get || head.method == .head {
            switch PayloadPath.parse(path) {
            case .part(let id, let name) where !isDevice:
                return .fetch(try HTTPCodec.key(id, part: name, in: path, decoding: &names))
            case .link(let id, let name):
                try checkLink(head, bytes)
                return .fetch(try HTTPCodec.key(id, part: name, in: path, decoding: &names))
            case .blob(let digest) where !isDevice:
                return .fetch(.digest(try Digest(onWire: digest.of(path))))
            default: break
            }
        }
        return .perform(.endpoint(try endpointRequest(head, bytes, isDevice: isDevice)))
    }

    /// What a head asks for besides payloads' bytes.
    @inline(never)
    private func endpointRequest(
        _ head: HTTPRequestHead, _ bytes: RawSpan, isDevice: Bool
    ) throws(ProtocolError) -> EndpointRequest {
        let path = head.path.of(bytes)
        let (endpoint, names) = try Endpoint.find(
            head.method, path, by: isDevice ? .deviceSocket : .mainSocket)
        var link: HeldLink?
        if endpoint.access == .linkHolders {
            link = HeldLink(path: path, query: head.query.of(bytes), asOf: now, links)
            guard link != nil else { throw .linkNotValid }
        }
        var request = try EndpointRequest(endpoint, names, head, bytes)
        request.link = link
        return request
    }
}

extension RequestHandler {
    /// Refuses a link that is not valid, before anything it names is looked at. Whatever is wrong with it,
    /// the answer is the same.
    @inline(never)
    private func checkLink(
        _ head: HTTPRequestHead, _ bytes: RawSpan
    ) throws(ProtocolError) {
        guard let keys = links.keys,
            SignedLink.isValid(
                path: head.path.of(bytes), query: head.query.of(bytes),
                now: now.milliseconds / 1_000, keys: keys)
        else { throw .linkNotValid }
    }
}

extension HTTPCodec {
    /// A part's name in a path, of which the name of the part may be missing.
    @inline(__always)
    fileprivate static func key(
        _ id: Slice, part: Slice, in path: RawSpan, decoding names: inout [UInt8]
    ) throws(ProtocolError) -> PayloadKey {
        guard PercentCoding.isPlain(id.of(path)),
            part.isEmpty || PercentCoding.isPlain(part.of(path))
        else {
            let (id, part) = try decode(id.of(path), part: part.of(path), into: &names)
            return .part(id: id, part: part)
        }
        try check(id.of(path), part: part.of(path))
        return .part(id: id, part: part)
    }

    /// Decodes and checks both.
    static func decode(
        _ id: RawSpan, part: RawSpan, into names: inout [UInt8]
    ) throws(ProtocolError) -> (id: Slice, part: Slice) {
        try PercentCoding.decode(id, orThrow: .badID, into: &names)
        let idEnd = names.count
        try check(names.span.bytes, part: RawSpan())
        try PercentCoding.decode(part, orThrow: .badPart, into: &names)
        try check(part: names.span.bytes.extracting(droppingFirst: idEnd))
        return (
            Slice(offset: 0, count: idEnd), Slice(offset: idEnd, count: names.count - idEnd)
        )
    }

    @inline(__always)
    private static func check(_ id: RawSpan, part: RawSpan) throws(ProtocolError) {
        try TextKind.checkID(id)
        try check(part: part)
    }

    @inline(__always)
    private static func check(part: RawSpan) throws(ProtocolError) {
        guard part.byteCount > 0 else { return }
        try TextKind.part.check(part)
    }
}
