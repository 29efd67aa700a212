import BlobProtocol
import BlobStore
import Bytes
import Notifications

// The way of a frame. Its head is checked before a byte of the body is read. `docs/PROTOCOL.md` describes frames.

/// A frame from its header to its log line.
struct BinaryRequest: IncomingRequest, ~Escapable {
    let frame: RequestFrame
    let head: RawSpan
    let userID: UInt32
    let wait: Session.Wait

    @_lifetime(copy head)
    init(_ frame: RequestFrame, _ head: RawSpan, of connection: Session, _ wait: Session.Wait) {
        self.frame = frame
        self.head = head
        userID = connection.userID
        self.wait = wait
    }

    var dialect: PendingReply.Form.Dialect { .binary(frame) }

    var framing: Upload.Framing { .counted(frame.bodyByteCount) }

    var stepAfterAnswer: RequestHandler.Step {
        @inline(__always)
        get { frame.bodyByteCount == 0 ? .answered : .answeredThenSkip(frame.bodyByteCount) }
    }

    func acknowledgement() throws(ProtocolError) -> Acknowledgement? {
        frame.flags.contains(.replicated) ? .replicated : nil
    }

    func accept(_ step: ActionStep) throws(ProtocolError) -> ActionStep {
        if case .receiveBody = step { return step }
        try require(
            frame.operation != .call || frame.bodyByteCount == 0, .malformed,
            "this call must not have a body")
        return step
    }

    func refuse(
        _ error: ProtocolError, _ entry: RequestEntry, by handler: RequestHandler,
        into batch: inout AnswerBatch
    ) -> RequestHandler.Step {
        handler.respond(.problem(error), .binary(frame, entry), into: &batch)
        // The start of the next frame is known, but a body that is too long is not worth waiting for.
        if error.endsConnection || error.code == .payloadTooLarge { return .answeredThenClose }
        return stepAfterAnswer
    }

    func logged(_ asked: Request?, withAgent: Bool = false) -> LoggedRequest {
        var target = ""
        switch asked {
        case .fetch(.part(let id, let part)):
            target = LoggedRequest.text(id.of(head))
            if !part.isEmpty { target += "/\(LoggedRequest.text(part.of(head)))" }
        case .fetch(.digest(let digest)): target = digest.description
        case .call(let call): target = call.name
        case nil: break
        }
        return LoggedRequest(
            method: frame.operation?.row.name ?? "unknown", target: target, version: "blobd",
            userID: userID)
    }

    func appendPayload(
        _ payload: Payload, isByDigest: Bool, _ handler: RequestHandler,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch
    ) throws(FetchFailure) -> UInt16 {
        let isHeadOnly = frame.flags.contains(.headOnly)
        let blob = payload.blob
        var selection = Selection.whole(blob, acceptsGzip: frame.flags.contains(.gzipAccepted))
        do throws(ProtocolError) {
            if let range = try WireRange.parse(head, flags: frame.flags) {
                selection = try selection.narrowed(
                    to: range.resolve(byteCount: UInt64(blob.byteCount)), of: range, blob)
            }
        } catch {
            throw .refused(error)
        }
        let body: BatchedAnswer.Body = isHeadOnly ? .none : selection.body(of: blob)
        try handler.map(body, of: payload, into: &batch, in: snapshot)
        let response = Get.Response(
            byteCount: UInt64(blob.byteCount), first: UInt64(selection.lower),
            // A blob has no expiry: it is kept while a notification refers to it.
            expiryMilliseconds: isByDigest ? 0 : payload.expiresAt.milliseconds,
            revision: payload.revision, createdMilliseconds: payload.createdAt.milliseconds,
            coding: selection.coding == .gzip ? .gzip : .identity)
        let digest = blob.digest.rawBytes
        response.compose(
            answering: frame, status: selection.status,
            bodyByteCount: isHeadOnly ? 0 : UInt64(selection.byteCount),
            digest: digest.span.bytes, mediaType: payload.servedMediaType, into: &batch.heads)
        batch.endAnswer(body, fetchStatus: selection.status)
        return selection.status
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
            return refuse(error, of: connection, into: &batch)
        }
        // At most 8,216 bytes: the parser has checked the size of the head.
        let headEnd = Wire.frameHeaderByteCount + Int(frame.headByteCount)
        guard bytes.byteCount >= headEnd else { return .needsInput }
        let head = bytes.extracting(Wire.frameHeaderByteCount..<headEnd)
        let request = BinaryRequest(frame, head, of: connection, wait)
        consumed = headEnd
        if let problem = frame.greetingProblem(isGreeted: connection.isGreeted) {
            _ = refuse(problem, nil, request, into: &batch)
            return .answeredThenClose
        }
        let asked: Request
        do throws(ProtocolError) {
            switch try operation(of: frame) {
            case .hello:
                _ = try Hello.Request.parse(head)
                connection.isGreeted = true
                BinaryCodec.appendHello(store.id, limits, frame, into: &batch)
                observer.note(
                    observer.entry(.probe, request.logged(nil)), status: 200, nil, batch)
                return .answered
            case .ping:
                try Ping.check(head)
                // At most 1,024 bytes, so the whole body is awaited.
                let end = headEnd + Int(frame.bodyByteCount)
                guard bytes.byteCount >= end else {
                    consumed = 0
                    return .needsInput
                }
                consumed = end
                let entry = observer.entry(.probe, request.logged(nil))
                let body = bytes.extracting(headEnd..<end).array()
                return .later(
                    .write(.checkWritable, .ping(body)), .binary(frame, entry), .counted(0))
            case .put:
                let put = try Put.Request.parse(head, flags: frame.flags)
                asked = .call(EndpointRequest(put, bodyByteCount: frame.bodyByteCount))
            case .get:
                let get = try Get.Request.parse(head, flags: frame.flags)
                asked = .fetch(try get.key(in: head, flags: frame.flags))
            case .call:
                let call = try Call.Request.parse(head, flags: frame.flags)
                asked = .call(try EndpointRequest(call, head))
            }
        } catch {
            let entry = observer.entry(
                frame.operation?.row.counted ?? .unknown, request.logged(nil))
            return request.refuse(error, entry, by: self, into: &batch)
        }
        return answer(asked, head, request, in: snapshot, into: &batch, consumed: &consumed)
    }

    private func refuse(
        _ error: FrameError, of connection: Session, into batch: inout AnswerBatch
    ) -> Step {
        let answer = RequestFrame(
            opcode: error.opcode, flags: [], requestID: error.requestID, headByteCount: 0,
            bodyByteCount: 0)
        respond(
            .problem(error.problem), .binary(answer, observer.unknown(connection)), into: &batch)
        return .answeredThenClose
    }

    /// Like ``nextFrame``, but refuses the frame.
    func refuseNextFrame(
        _ error: ProtocolError, _ bytes: RawSpan, of connection: Session,
        into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        do throws(FrameError) {
            guard let frame = try RequestFrame.parse(bytes) else { return .needsInput }
            let headEnd = Wire.frameHeaderByteCount + Int(frame.headByteCount)
            guard bytes.byteCount >= headEnd else { return .needsInput }
            let head = bytes.extracting(Wire.frameHeaderByteCount..<headEnd)
            consumed = headEnd
            return refuse(
                error, nil, BinaryRequest(frame, head, of: connection, .none), into: &batch)
        } catch {
            return refuse(error, of: connection, into: &batch)
        }
    }

    /// Answers the frame at the start of `bytes` if it is a plain fetch of a whole payload as stored. Returns how many
    /// bytes were used; 0: ``next(_:of:in:into:consumed:)`` has to answer.
    @inline(__always)
    func answerPlainGet(
        _ bytes: RawSpan, of connection: inout Session, in snapshot: borrowing Snapshot,
        into batch: inout AnswerBatch
    ) -> Int {
        guard connection.isGreeted, let get = PlainGet(bytes) else { return 0 }
        let id = get.id.of(bytes)
        guard snapshot.isCurrent else { return 0 }
        do throws(StoreError) {
            guard
                case .found(let payload) = try snapshot.payload(
                    for: id, part: RawSpan(), asOf: now)
            else { return 0 }
            let blob = payload.blob
            guard blob.storedByteCount > 0, blob.coding == .identity || get.acceptsGzip,
                payload.mediaType.byteCount > 0,
                payload.mediaType.byteCount <= WireLimits.mediaTypeByteCountMax
            else { return 0 }
            try batch.map(payload)
            let digest = blob.digest.rawBytes
            Get.Response(
                byteCount: UInt64(blob.byteCount),
                expiryMilliseconds: payload.expiresAt.milliseconds, revision: payload.revision,
                createdMilliseconds: payload.createdAt.milliseconds,
                coding: blob.coding == .gzip ? .gzip : .identity
            ).compose(
                answering: RequestFrame(
                    .get, requestID: get.requestID, headByteCount: 0, bodyByteCount: 0),
                status: 200, bodyByteCount: UInt64(blob.storedByteCount),
                digest: digest.span.bytes, mediaType: payload.mediaType, into: &batch.heads)
            batch.endAnswer(
                .stored(StoredRange(blob: blob, from: 0, upTo: blob.storedByteCount)),
                fetchStatus: 200)
        } catch {
            // ``next(_:of:in:into:consumed:)`` finds the error again, counts it and answers with it.
            return 0
        }
        requests.fetches.add()
        connection.wait = .none
        return get.byteCount
    }

    private func operation(of frame: RequestFrame) throws(ProtocolError) -> Opcode {
        let operation = try require(
            frame.operation, .methodNotAllowed, "unknown operation \(frame.opcode)")
        let bodyMax = bodyByteCountMax(of: operation, frame.flags)
        guard frame.bodyByteCount <= bodyMax else {
            var error = ProtocolError(
                .payloadTooLarge,
                "the body is \(frame.bodyByteCount) bytes long; the limit for \(operation) is \(bodyMax)",
                limit: Int(clamping: bodyMax))
            if operation.bodyByteCountMax == nil { error.members = [.maxPayload] }
            throw error
        }
        return operation
    }

    /// A call's body may contain several payloads and the text between them.
    private func bodyByteCountMax(of operation: Opcode, _ flags: RequestFlags) -> UInt64 {
        if let byteCountMax = operation.bodyByteCountMax { return byteCountMax }
        var byteCountMax = limits.payloadByteCountMax
        if flags.contains(.bodyIsGzip) { byteCountMax = limits.codedByteCountMax }
        let extra = operation == .call ? WireLimits.multipartExtraByteCountMax : 0
        return UInt64(byteCountMax + extra)
    }
}

extension RequestFrame {
    /// hello is the first frame of a connection, and only the first.
    fileprivate func greetingProblem(isGreeted: Bool) -> ProtocolError? {
        guard isGreeted == (operation == .hello) else { return nil }
        if isGreeted { return ProtocolError(.malformed, "hello must be sent once") }
        let name = operation.map { "\($0)" } ?? "\(opcode)"
        return ProtocolError(.malformed, "the first frame must be hello, not \(name)")
    }
}

extension Get.Request {
    fileprivate func key(
        in head: RawSpan, flags: RequestFlags
    ) throws(ProtocolError) -> PayloadKey {
        guard flags.contains(.digestGiven) else { return .part(id: id, part: part) }
        return .digest(
            try require(Digest(bytes: id.of(head)), .badDigest, "the digest must be 32 bytes long"))
    }
}

extension Opcode {
    /// Its name in logs, and what a request with an invalid head is counted as.
    fileprivate var row: (name: StaticString, counted: Operation) {
        switch self {
        case .hello: ("hello", .probe)
        case .ping: ("ping", .probe)
        case .put: ("put", .publish)
        case .get: ("get", .fetch)
        case .call: ("call", .unknown)
        }
    }
}
