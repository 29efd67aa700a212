import BlobProtocol
import BlobStore
import Bytes
import Notifications

// The way of an HTTP request: its head is read, and its path selects a payload or a row of the table of calls.

struct HTTPRequest: IncomingRequest, ~Escapable {
    var head = HTTPRequestHead()
    let bytes: RawSpan
    var form = HTTPForm(keepAlive: false, isHTTP10: false, isHead: false)
    let isDevice: Bool
    let userID: UInt32
    let wait: Session.Wait

    @inline(__always)
    @_lifetime(copy bytes)
    init(_ bytes: RawSpan, of connection: Session, _ wait: Session.Wait) {
        self.bytes = bytes
        isDevice = connection.isDevice
        userID = connection.userID
        self.wait = wait
    }

    var path: RawSpan {
        @inline(__always)
        @_lifetime(copy self)
        get { head.path.of(bytes) }
    }

    var interface: Endpoint.Interfaces { isDevice ? .deviceSocket : .mainSocket }

    var dialect: PendingReply.Form.Dialect { .http(form) }

    var framing: Upload.Framing {
        head.isChunked ? .chunked(ChunkedDecoder()) : .counted(head.contentLength ?? 0)
    }

    var stepAfterAnswer: RequestHandler.Step {
        @inline(__always)
        get { form.step(after: head) }
    }

    func acknowledgement() throws(ProtocolError) -> Acknowledgement? {
        guard let value = try head.value(of: "blobd-ack", in: bytes) else { return nil }
        return try require(
            Acknowledgement(rawValue: value.of(bytes).text()), .malformed,
            "Blobd-Ack is \(value.of(bytes).excerpt()); it must be local or replicated")
    }

    /// Answers 304 if `If-None-Match` names the record (RFC 9110, section 13.1.2).
    func accept(_ step: ActionStep) throws(ProtocolError) -> ActionStep {
        guard !head.ifNoneMatch.isEmpty, case .respond(.document(var document)) = step,
            let revision = document.revision
        else { return step }
        var tag: [UInt8] = []
        RevisionTags.append(revision, to: &tag)
        if EntityTags.match(head.ifNoneMatch, in: bytes, tag: tag.span.bytes, .weak) {
            document.status = 304
        }
        return .respond(.document(document))
    }

    func refuse(
        _ error: ProtocolError, _ entry: RequestEntry, by handler: RequestHandler,
        into batch: inout AnswerBatch
    ) -> RequestHandler.Step {
        var form = form
        // The answer to an unread body is the last on its connection, and so is the answer to a body cut off by a stop.
        if head.skippedBodyByteCount == nil || error.code == .payloadTooLarge
            || error.code == .stopping
        {
            form.keepAlive = false
        }
        handler.respond(
            .problem(error), .http(form, entry),
            hint: AnswerHint(error, head, bytes, on: interface), into: &batch)
        return form.step(after: head)
    }

    func logged(_ asked: Request?, withAgent: Bool) -> LoggedRequest {
        var agent = RawSpan()
        if withAgent, let value = try? head.value(of: "user-agent", in: bytes) {
            agent = value.of(bytes)
        }
        return LoggedRequest(
            method: head.method.name, sent: head.target.of(bytes), agent: agent,
            version: head.minorVersion == 0 ? "HTTP/1.0" : "HTTP/1.1", isDevice: isDevice,
            userID: userID)
    }
}

extension RequestHandler {
    func nextHTTP(
        _ bytes: RawSpan, of connection: inout Session, _ wait: Session.Wait,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        var request = HTTPRequest(bytes, of: connection, wait)
        do throws(ProtocolError) {
            let count = try request.head.read(bytes, resuming: &connection.headScanner)
            guard let count else {
                // They are not the beginning of a request, which would have to go on within the time of a head.
                consumed = HTTPRequestHead.emptyLinesByteCount(bytes)
                if consumed > 0 { connection.headScanner = HeadScanner() }
                return .needsInput
            }
            consumed = count
        } catch {
            respond(.problem(error), .http(.last, observer.unknown(connection)), into: &batch)
            return .answeredThenClose
        }
        request.form = HTTPForm(request.head, isStopping: isStopping)
        return answer(request, in: snapshot, into: &batch, consumed: &consumed)
    }

    /// Like `nextHTTP`, but refuses the request.
    func refuseNextHTTP(
        _ error: ProtocolError, _ bytes: RawSpan, of connection: inout Session,
        into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        var request = HTTPRequest(bytes, of: connection, .none)
        do throws(ProtocolError) {
            let count = try request.head.read(bytes, resuming: &connection.headScanner)
            guard let count else { return .needsInput }
            consumed = count
        } catch {
            respond(.problem(error), .http(.last, observer.unknown(connection)), into: &batch)
            return .answeredThenClose
        }
        request.form = HTTPForm(request.head, isStopping: isStopping)
        return refuse(error, nil, request, into: &batch)
    }

    /// Answers a request whose head is read. Borrows the request: a copy takes 30 instructions.
    @inline(never)
    private func answer(
        _ request: HTTPRequest, in snapshot: borrowing Snapshot, into batch: inout AnswerBatch,
        consumed: inout Int
    ) -> Step {
        // The names, if they are percent-encoded.
        var decoded: [UInt8] = []
        let asked: Request
        do throws(ProtocolError) {
            asked = try self.asked(request, decoding: &decoded)
        } catch {
            return refuse(error, nil, request, into: &batch)
        }
        // Not for devices: whoever has one valid link could make this host ask the bucket again and again.
        if isInShard, !request.isDevice, let step = behind(request, into: &batch) {
            if case .retryBehind = step { consumed = 0 }
            return step
        }
        let names = decoded.span.bytes
        let text = names.byteCount == 0 ? request.path : names
        return answer(asked, text, request, in: snapshot, into: &batch, consumed: &consumed)
    }

    /// What to do if a client has seen more than this host of a shard has; nil: answer the request.
    @inline(never)
    private func behind(_ request: HTTPRequest, into batch: inout AnswerBatch) -> Step? {
        do throws(ProtocolError) {
            return try missing(request.head, request.bytes, hasWaited: request.wait != .none)
                .map { .retryBehind($0) }
        } catch {
            return refuse(error, nil, request, into: &batch)
        }
    }

    /// The slices refer to the path or, if that is percent-encoded, to `names`, which then receives the decoded names.
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
        return .call(try endpointRequest(request))
    }

    @inline(never)
    private func endpointRequest(
        _ request: HTTPRequest
    ) throws(ProtocolError) -> EndpointRequest {
        let (endpoint, names) = try Endpoint.find(
            request.head.method, request.path, on: request.interface)
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

    /// Refuses an invalid link before anything that it names is looked up.
    @inline(never)
    private func checkLink(_ request: HTTPRequest) throws(ProtocolError) {
        guard let keys = links.keys,
            SignedLink.expiry(
                path: request.path, query: request.head.query.of(request.bytes),
                now: now.milliseconds / 1_000, keys: keys) != nil
        else { throw .linkNotValid }
    }
}

extension HTTPForm {
    /// The answer is the last one if the body is too long to be discarded.
    @inline(__always)
    init(_ head: HTTPRequestHead, isStopping: Bool) {
        let storesBody = head.method == .put || head.method == .post || head.method == .patch
        self.init(
            keepAlive: head.keepAlive && !isStopping
                && (storesBody || head.skippedBodyByteCount != nil),
            isHTTP10: head.minorVersion == 0, isHead: head.method == .head,
            expectsContinue: head.expectsContinue)
    }

    @inline(__always)
    func step(after head: HTTPRequestHead) -> RequestHandler.Step {
        guard keepAlive, let count = head.skippedBodyByteCount else { return .answeredThenClose }
        return count == 0 ? .answered : .answeredThenSkip(count)
    }
}

extension HTTPRequestHead {
    /// A longer body with a refused request closes the connection.
    private static let skippedBodyByteCountMax: UInt64 = 64 << 10

    /// How many bytes of body to discard after an answer that did not need it; nil: the connection ends.
    var skippedBodyByteCount: UInt64? {
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

extension PayloadKey {
    /// Checks both names. If one is percent-encoded, `names` receives both, and the slices refer to it.
    @inline(__always)
    init(
        _ id: Slice, part: Slice, in path: RawSpan, decoding names: inout [UInt8]
    ) throws(ProtocolError) {
        guard PercentCoding.isPlain(id.of(path)),
            part.isEmpty || PercentCoding.isPlain(part.of(path))
        else {
            try PercentCoding.decode(id.of(path), orThrow: .badID, into: &names)
            let idEnd = names.count
            try TextKind.checkID(names.span.bytes)
            try PercentCoding.decode(part.of(path), orThrow: .badPart, into: &names)
            let part = names.span.bytes.extracting(droppingFirst: idEnd)
            if part.byteCount > 0 { try TextKind.part.check(part) }
            self = .part(
                id: Slice(offset: 0, count: idEnd),
                part: Slice(offset: idEnd, count: part.byteCount))
            return
        }
        try TextKind.checkID(id.of(path))
        if !part.isEmpty { try TextKind.part.check(part.of(path)) }
        self = .part(id: id, part: part)
    }
}
