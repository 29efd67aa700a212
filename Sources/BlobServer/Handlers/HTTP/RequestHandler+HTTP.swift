import BlobProtocol
import BlobStore
import Bytes
import Notifications

// An HTTP request's way: its head is read, what it reads must be committed, and then it is answered.

extension RequestHandler {
    func nextHTTP(
        _ bytes: RawSpan, of connection: inout Session, _ wait: Session.Wait,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        var request = HTTPRequest(bytes, of: connection, wait)
        do throws(ProtocolError) {
            let count = try request.head.read(bytes, resuming: &connection.headScanner)
            guard let count else { return .needsInput }
            consumed = count
        } catch {
            respond(.problem(error), .http(.last, observer.unknown(connection)), into: &batch)
            return .answeredThenClose
        }
        request.form = HTTPForm(request.head, isStopping: isStopping)
        if isFollowing, let step = behind(request, into: &batch) {
            if case .retryBehind = step { consumed = 0 }
            return step
        }
        return answer(request, in: snapshot, into: &batch, consumed: &consumed)
    }

    /// Answers the request that has a head, which it borrows: a copy takes 30 instructions.
    @inline(never)
    private func answer(
        _ request: HTTPRequest, in snapshot: borrowing Snapshot, into batch: inout AnswerBatch,
        consumed: inout Int
    ) -> Step {
        // Names that are percent-encoded, decoded.
        var decoded: [UInt8] = []
        let asked: Request
        do throws(ProtocolError) {
            asked = try self.asked(request, decoding: &decoded)
        } catch {
            return refuse(error, request, entry(.unknown, request), into: &batch)
        }
        let names = decoded.span.bytes
        let text = names.byteCount == 0 ? request.path : names
        if let retry = retry(asked, text, request.wait, in: snapshot) {
            consumed = 0
            return retry
        }
        if request.wait == .inVain {
            var last = request
            last.form.keepAlive = false
            return refuse(.stopping, last, entry(asked.operation, request), into: &batch)
        }
        switch asked {
        case .fetch(let key):
            do throws(FetchFailure) {
                let status = try appendPayload(
                    try payload(key, text, in: snapshot), request, in: snapshot, into: &batch)
                requests.countFetch(status: status)
                if observer.logsRequests {
                    observer.logFetch(LoggedRequest(request), status: status, batch)
                }
                return request.form.step(after: request.head)
            } catch {
                let step = step(after: error, request, into: &batch)
                if case .retryWithBlob = step { consumed = 0 }
                return step
            }
        case .perform(let action):
            return perform(action, text, request, in: snapshot, into: &batch)
        }
    }

    /// Does what is no fetch. Apart from those, so that what a fetch needs stays in one function.
    @inline(never)
    private func perform(
        _ action: Action, _ text: RawSpan, _ request: HTTPRequest,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch
    ) -> Step {
        let form = request.form
        let entry = entry(action.operation, request)
        do throws(ProtocolError) {
            var step = try perform(action, text, in: snapshot)
            var reply = PendingReply.Form.http(form, entry)
            switch step {
            case .respond(let response):
                step = .respond(response.known(to: request.head, request.bytes))
            case .fetch(let id, let part):
                return try fetch(id, part, request, entry, in: snapshot, into: &batch)
            case .subscribe where form.isHead, .sendBackup where form.isHead:
                if case .subscribe = step {
                    http.appendEventsHead(form, into: &batch)
                } else {
                    http.appendBackupHead(form, into: &batch)
                }
                observer.note(entry, status: 200, nil, batch)
                return form.step(after: request.head)
            default: break
            }
            if step.isChange {
                reply.acknowledgement = try acknowledgement(request.head, request.bytes)
            }
            let next = try carryOut(
                step, request.framing, reply, expectsContinue: request.head.expectsContinue,
                into: &batch)
            if case .answered = next { return form.step(after: request.head) }
            return next
        } catch {
            return refuse(error, request, entry, into: &batch)
        }
    }

    /// Answers with a payload that a handler has found.
    @inline(never)
    private func fetch(
        _ id: String, _ part: String, _ request: HTTPRequest, _ entry: RequestEntry,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch
    ) throws(ProtocolError) -> Step {
        do throws(FetchFailure) {
            let lookup: PayloadLookup
            do throws(StoreError) {
                lookup = try snapshot.payload(
                    for: id.utf8.span.bytes, part: part.utf8.span.bytes, asOf: now)
            } catch { throw .refused(problem(error)) }
            let status = try appendPayload(lookup, request, in: snapshot, into: &batch)
            observer.note(entry, status: status, nil, batch)
            return request.form.step(after: request.head)
        } catch {
            return try step(after: error)
        }
    }

    @inline(never)
    private func step(
        after failure: FetchFailure, _ request: HTTPRequest, into batch: inout AnswerBatch
    ) -> Step {
        do throws(ProtocolError) {
            return try step(after: failure)
        } catch {
            return refuse(error, request, entry(.fetch, request), into: &batch)
        }
    }

    /// What to do with a request of a follower's client that has seen more than the follower has; nil: answer it.
    @inline(never)
    private func behind(_ request: HTTPRequest, into batch: inout AnswerBatch) -> Step? {
        do throws(ProtocolError) {
            return try missing(request.head, request.bytes, hasWaited: request.wait != .none)
                .map { .retryBehind($0) }
        } catch {
            return refuse(error, request, entry(.unknown, request), into: &batch)
        }
    }

    private func entry(_ operation: Operation, _ request: HTTPRequest) -> RequestEntry {
        observer.entry(operation, LoggedRequest(request))
    }

    private func refuse(
        _ error: ProtocolError, _ request: HTTPRequest, _ entry: RequestEntry,
        into batch: inout AnswerBatch
    ) -> Step {
        var form = request.form
        // A body that is not read here is the last thing this connection says.
        if request.head.skippedBodyByteCount == nil || error.code == .payloadTooLarge {
            form.keepAlive = false
        }
        respond(
            .problem(error), .http(form, entry),
            hint: AnswerHint(error, request.head, request.bytes), into: &batch)
        return form.step(after: request.head)
    }
}

extension RequestHandler {
    /// What a request asks for. Its slices are of the path or, where that is percent-encoded, of `names`, which is
    /// filled with the names then.
    @inline(__always)
    private func asked(
        _ request: HTTPRequest, decoding names: inout [UInt8]
    ) throws(ProtocolError) -> Request {
        if request.head.method == .get || request.head.method == .head {
            let path = request.path
            switch PayloadPath.parse(path) {
            case .part(let id, let name) where !request.isDevice:
                return .fetch(try PayloadKey(id, part: name, in: path, decoding: &names))
            case .link(let id, let name):
                try checkLink(request)
                return .fetch(try PayloadKey(id, part: name, in: path, decoding: &names))
            case .blob(let digest) where !request.isDevice:
                return .fetch(.digest(try Digest(onWire: digest.of(path))))
            default: break
            }
        }
        return .perform(.endpoint(try endpointRequest(request)))
    }

    @inline(never)
    private func endpointRequest(
        _ request: HTTPRequest
    ) throws(ProtocolError) -> EndpointRequest {
        let (endpoint, names) = try Endpoint.find(
            request.head.method, request.path, on: request.isDevice ? .deviceSocket : .mainSocket)
        var grant: DeviceGrant?
        if endpoint.rules.contains(.signed) {
            grant = DeviceGrant(
                path: request.path, query: request.head.query.of(request.bytes), asOf: now, links)
            guard grant != nil else { throw .linkNotValid }
        } else if endpoint.rules.contains(.token) {
            if let field = try request.head.value(of: "authorization", in: request.bytes) {
                grant = DeviceGrant(authorization: field.of(request.bytes), asOf: now, links)
            }
            guard let token = grant?.token else { throw .tokenNotValid }
            guard endpoint.method == .get || token.scope == .write else { throw .scopeTooSmall }
        }
        return try EndpointRequest(endpoint, names, request.head, request.bytes, by: grant)
    }

    /// Refuses a link that is not valid, before anything it names is looked at. Whatever is wrong with it,
    /// the answer is the same.
    @inline(never)
    private func checkLink(_ request: HTTPRequest) throws(ProtocolError) {
        guard let keys = links.keys,
            SignedLink.isValid(
                path: request.path, query: request.head.query.of(request.bytes),
                now: now.milliseconds / 1_000, keys: keys)
        else { throw .linkNotValid }
    }
}

extension Answer {
    /// 304 where `If-None-Match` names the record that is answered (RFC 9110, section 13.1.2).
    fileprivate func known(to head: HTTPRequestHead, _ bytes: RawSpan) -> Answer {
        guard !head.ifNoneMatch.isEmpty, case .document(var document) = self,
            let revision = document.revision
        else { return self }
        var tag: [UInt8] = []
        RevisionTags.append(revision, to: &tag)
        guard EntityTags.match(head.ifNoneMatch, in: bytes, tag: tag.span.bytes, .weak) else {
            return self
        }
        document.status = 304
        return .document(document)
    }
}
