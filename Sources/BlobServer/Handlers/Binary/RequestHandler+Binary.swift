import BlobProtocol
import BlobStore
import Bytes
import Notifications

// A frame's way: its head is read, what it reads must be committed, and then it is answered. Everything a head says is
// checked before a byte of a body is read. `docs/PROTOCOL.md` draws the frames.

/// A frame from its header to its log line: the context that answering it needs.
struct BinaryRequest: ~Escapable {
    let frame: RequestFrame
    let head: RawSpan
    let userID: UInt32

    @_lifetime(copy head)
    init(_ frame: RequestFrame, _ head: RawSpan, of connection: Session) {
        self.frame = frame
        self.head = head
        userID = connection.userID
    }

    /// What a log says of it; `target` is the id or the path that it names.
    func logged(_ target: String) -> LoggedRequest {
        LoggedRequest(
            method: frame.operation?.row.name ?? "unknown", target: target, version: "blobd",
            userID: userID)
    }
}

extension RequestHandler {
    func nextFrame(
        _ bytes: RawSpan, of connection: inout Session, _ wait: Session.Wait,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        let frame: RequestFrame
        do throws(FrameError) {
            guard let parsed = try RequestFrame.parse(bytes) else { return .needsInput }
            frame = parsed
        } catch {
            let answer = RequestFrame(
                opcode: error.opcode, flags: [], requestID: error.requestID, headByteCount: 0,
                bodyByteCount: 0)
            respond(
                .problem(error.problem), .binary(answer, observer.unknown(connection)), into: &batch
            )
            return .answeredThenClose
        }
        // At most 8,216 bytes: the parser has checked the head's size.
        let headEnd = Wire.frameHeaderByteCount + Int(frame.headByteCount)
        guard bytes.byteCount >= headEnd else { return .needsInput }
        let head = bytes.extracting(Wire.frameHeaderByteCount..<headEnd)
        let request = BinaryRequest(frame, head, of: connection)
        var end = headEnd
        if let problem = frame.greetingProblem(isGreeted: connection.isGreeted) {
            consumed = end
            _ = refuse(problem, request, entry(.unknown, request), into: &batch)
            return .answeredThenClose
        }
        let asked: Request
        do throws(ProtocolError) {
            switch try operation(of: frame) {
            case .hello:
                _ = try Hello.Request.parse(head)
                connection.isGreeted = true
                consumed = end
                BinaryCodec.appendHello(store.id, limits, frame, into: &batch)
                observer.note(entry(.probe, request), status: 200, nil, batch)
                return .answered
            case .ping:
                try Ping.check(head)
                // At most 1,024 bytes, so that the whole of it is waited for.
                end += Int(frame.bodyByteCount)
                guard bytes.byteCount >= end else { return .needsInput }
                asked = .perform(.check(.ping(bytes.extracting(headEnd..<end).array())))
            case let operation: asked = try self.asked(operation, request)
            }
        } catch {
            consumed = headEnd
            let entry = entry(frame.operation?.row.counted ?? .unknown, request)
            return refuse(error, request, entry, into: &batch)
        }
        if let retry = retry(asked, head, wait, in: snapshot) { return retry }
        consumed = end
        if wait == .inVain {
            return refuse(.stopping, request, entry(asked.operation, request), into: &batch)
        }
        switch asked {
        case .fetch(let key):
            let step = fetch(key, request, in: snapshot, into: &batch)
            if case .retryWithBlob = step { consumed = 0 }
            return step
        case .perform(let action): return perform(action, request, in: snapshot, into: &batch)
        }
    }

    @inline(__always)
    private func fetch(
        _ key: PayloadKey, _ request: BinaryRequest, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch
    ) -> Step {
        do throws(FetchFailure) {
            let status = try appendPayload(
                try payload(key, request.head, in: snapshot), request, in: snapshot, into: &batch)
            requests.countFetch(status: status)
            if observer.logsRequests {
                observer.logFetch(
                    request.logged(key.target(request.head)), status: status, batch)
            }
            return .answered
        } catch {
            return step(after: error, key, request, into: &batch)
        }
    }

    @inline(never)
    private func step(
        after failure: FetchFailure, _ key: PayloadKey, _ request: BinaryRequest,
        into batch: inout AnswerBatch
    ) -> Step {
        do throws(ProtocolError) {
            return try step(after: failure)
        } catch {
            let entry = entry(.fetch, request, key.target(request.head))
            return refuse(error, request, entry, into: &batch)
        }
    }

    @inline(never)
    private func perform(
        _ action: Action, _ request: BinaryRequest, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch
    ) -> Step {
        let frame = request.frame
        let entry = entry(action.operation, request, action.target)
        do throws(ProtocolError) {
            let step = try perform(action, request.head, in: snapshot)
            if frame.operation == .call, frame.bodyByteCount > 0 {
                guard case .receiveBody = step else {
                    throw ProtocolError(.malformed, "this call must not have a body")
                }
            }
            var form = PendingReply.Form.binary(frame, entry)
            if step.isChange {
                form.acknowledgement = try acknowledgement(
                    asked: frame.flags.contains(.replicated) ? .replicated : nil)
            }
            return try carryOut(step, .counted(frame.bodyByteCount), form, into: &batch)
        } catch {
            return refuse(error, request, entry, into: &batch)
        }
    }

    private func entry(
        _ operation: Operation, _ request: BinaryRequest, _ target: @autoclosure () -> String = ""
    ) -> RequestEntry {
        observer.entry(operation, request.logged(target()))
    }

    private func refuse(
        _ error: ProtocolError, _ request: BinaryRequest, _ entry: RequestEntry,
        into batch: inout AnswerBatch
    ) -> Step {
        let frame = request.frame
        respond(.problem(error), .binary(frame, entry), into: &batch)
        // Where the next frame begins is known, but a body that is too long is not worth waiting
        // for. What an operation takes that is not known here is not known either.
        if error.endsConnection || error.code == .payloadTooLarge { return .answeredThenClose }
        return frame.bodyByteCount == 0 ? .answered : .answeredThenSkip(frame.bodyByteCount)
    }

    private func operation(of frame: RequestFrame) throws(ProtocolError) -> Opcode {
        let operation = try require(
            frame.operation, .methodNotAllowed, "unknown operation \(frame.opcode)")
        let bodyMax = bodyByteCountMax(of: operation, frame.flags)
        try require(
            frame.bodyByteCount <= bodyMax, .payloadTooLarge,
            "the body is \(frame.bodyByteCount) bytes long; the limit for \(operation) is \(bodyMax)\(operation == .put ? " (max-payload)" : "")",
            limit: Int(clamping: bodyMax))
        return operation
    }

    /// The longest body of an operation. A call's may be several payloads with the words between
    /// them; the resource says the rest.
    private func bodyByteCountMax(of operation: Opcode, _ flags: RequestFlags) -> UInt64 {
        if let byteCountMax = operation.bodyByteCountMax { return byteCountMax }
        var byteCountMax = limits.payloadByteCountMax
        if flags.contains(.bodyIsGzip) { byteCountMax = limits.codedByteCountMax }
        let extra = operation == .call ? WireLimits.multipartExtraByteCountMax : 0
        return UInt64(byteCountMax + extra)
    }

    @inline(__always)
    private func asked(
        _ operation: Opcode, _ request: BinaryRequest
    ) throws(ProtocolError) -> Request {
        let (head, flags) = (request.head, request.frame.flags)
        switch operation {
        case .get:
            let get = try Get.Request.parse(head, flags: flags)
            return .fetch(.part(id: get.id, part: get.part))
        case .getBlob:
            let get = try GetBlob.Request.parse(head, flags: flags)
            let digest = Digest(bytes: get.digest.of(head))
            return .fetch(
                .digest(try require(digest, .badDigest, "the digest must be 32 bytes long")))
        default: return .perform(try action(operation, request))
        }
    }

    private func action(
        _ operation: Opcode, _ request: BinaryRequest
    ) throws(ProtocolError) -> Action {
        let (head, flags) = (request.head, request.frame.flags)
        switch operation {
        case .put:
            let put = try Put.Request.parse(head, flags: flags)
            let draft = PublicationDraft(
                put.texts, part: put.part ?? .payload, mediaType: put.mediaType ?? .octetStream,
                expiry: try expiry(put.lifetime),
                profile: put.profile ?? limits.profile)
            return .publish(
                draft, put.coding == .gzip ? .gzip : .identity,
                byteCount: request.frame.bodyByteCount)
        case .call:
            return .endpoint(try EndpointRequest(try Call.Request.parse(head, flags: flags), head))
        case .watch:
            let watch = try Watch.Request.parse(head, flags: flags)
            return .watch(FeedQuery(watch, head), cursor: watch.cursor)
        case .hello, .ping, .get, .getBlob:
            throw ProtocolError(.internalError, "\(operation) is answered elsewhere")
        }
    }
}

extension RequestFrame {
    /// What is wrong with its place after the beginning of the connection: the first frame, and no
    /// other, is hello.
    fileprivate func greetingProblem(isGreeted: Bool) -> ProtocolError? {
        guard isGreeted == (operation == .hello) else { return nil }
        if isGreeted { return ProtocolError(.malformed, "hello must be sent once") }
        let name = operation.map { "\($0)" } ?? "\(opcode)"
        return ProtocolError(.malformed, "the first frame must be hello, not \(name)")
    }
}

extension PayloadKey {
    /// What a log says of it. Its slices are of `text`.
    fileprivate func target(_ text: RawSpan) -> String {
        switch self {
        case .part(let id, let part):
            let id = LoggedRequest.text(id.of(text))
            return part.isEmpty ? id : "\(id)/\(LoggedRequest.text(part.of(text)))"
        case .digest(let digest): return digest.description
        }
    }
}

extension Action {
    /// What a log says it is about; empty where it names nothing.
    fileprivate var target: String {
        switch self {
        case .publish(let draft, _, _): draft.texts.id?.text ?? ""
        case .endpoint(let request): request.name
        case .watch(let query, _): query.owner
        case .check: ""
        }
    }
}

extension Opcode {
    /// Its name in logs, and what a request whose head is wrong is counted as.
    fileprivate var row: (name: StaticString, counted: Operation) {
        switch self {
        case .hello: ("hello", .probe)
        case .ping: ("ping", .probe)
        case .put: ("put", .publish)
        case .get: ("get", .fetch)
        case .getBlob: ("getBlob", .fetch)
        case .call: ("call", .unknown)
        case .watch: ("watch", .watch)
        }
    }
}

extension FeedQuery {
    /// What a watch asks for, but from where on. The connection serves nothing else from then on.
    fileprivate init(_ request: Watch.Request, _ head: RawSpan) {
        func text(_ slice: Slice) -> String? { slice.isEmpty ? nil : slice.of(head).text() }
        self.init(
            owner: request.owner.of(head).text(), start: .beginning, limit: request.pageLimit,
            waitSeconds: 0,
            filter: RecordFilter(
                app: text(request.app), isRead: request.isRead,
                actionState: request.actionState.flatMap { ActionState(rawValue: $0) },
                group: text(request.group), platform: text(request.platform),
                targetHost: text(request.targetHost)))
    }
}
