import BlobProtocol
import BlobStore
import Bytes

// A frame's way: its head is read, what it reads must be committed, and then it is answered.
// `docs/PROTOCOL.md` draws the frames.

extension RequestHandler {
    /// Answers the frame at the start of `bytes`.
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
        var end = headEnd
        if let problem = frame.greetingProblem(isGreeted: connection.isGreeted) {
            consumed = end
            respond(
                .problem(problem), .binary(frame, entry(.unknown, frame, "", connection)),
                into: &batch)
            return .answeredThenClose
        }
        let request: Request
        do throws(ProtocolError) {
            switch try operation(of: frame) {
            case .hello:
                _ = try Hello.Request.parse(head)
                connection.isGreeted = true
                consumed = end
                BinaryCodec.appendHello(store.id, limits, frame, into: &batch)
                observer.note(entry(.probe, frame, "", connection), status: 200, nil, batch)
                return .answered
            case .ping:
                try Ping.check(head)
                // At most 1,024 bytes, so that the whole of it is waited for.
                end += Int(frame.bodyByteCount)
                guard bytes.byteCount >= end else { return .needsInput }
                request = .perform(.check(.ping(bytes.extracting(headEnd..<end).array())))
            case let operation: request = try self.request(operation, frame, head)
            }
        } catch {
            consumed = headEnd
            let entry = entry(frame.operation?.counted ?? .unknown, frame, "", connection)
            return refuse(error, .binary(frame, entry), frame, into: &batch)
        }
        if let retry = retry(request, head, wait, in: snapshot) { return retry }
        consumed = end
        if wait == .inVain {
            let entry = entry(request.operation, frame, "", connection)
            return refuse(.stopping, .binary(frame, entry), frame, into: &batch)
        }
        switch request {
        case .fetch(let key):
            let step = fetch(key, frame, head, connection, in: snapshot, into: &batch)
            if case .retryWithBlob = step { consumed = 0 }
            return step
        case .perform(let action):
            let form = PendingReply.Form.binary(
                frame, entry(action.operation, frame, action.target(head), connection))
            do throws(ProtocolError) {
                let step = try perform(action, head, in: snapshot)
                return try follow(step, frame, form, into: &batch)
            } catch {
                return refuse(error, form, frame, into: &batch)
            }
        }
    }

    @inline(__always)
    private func fetch(
        _ key: PayloadKey, _ frame: RequestFrame, _ head: RawSpan, _ connection: Session,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch
    ) -> Step {
        do throws(FetchFailure) {
            let status = try appendPayload(
                try payload(key, head, in: snapshot), frame, head, in: snapshot, into: &batch)
            requests.countFetch(status: status)
            if observer.logsRequests {
                observer.logFetch(
                    LoggedRequest(frame.operation, target: key.target(head), connection),
                    status: status, batch)
            }
            return .answered
        } catch {
            return follow(error, key, frame, head, connection, into: &batch)
        }
    }

    /// Says why a payload is not sent, or waits for it.
    @inline(never)
    private func follow(
        _ failure: FetchFailure, _ key: PayloadKey, _ frame: RequestFrame, _ head: RawSpan,
        _ connection: Session, into batch: inout AnswerBatch
    ) -> Step {
        do throws(ProtocolError) {
            return try step(after: failure)
        } catch {
            let entry = entry(.fetch, frame, key.target(head), connection)
            return refuse(error, .binary(frame, entry), frame, into: &batch)
        }
    }

    private func entry(
        _ operation: Operation, _ frame: RequestFrame, _ target: @autoclosure () -> String,
        _ connection: Session
    ) -> RequestEntry {
        observer.entry(
            operation, LoggedRequest(frame.operation, target: target(), connection))
    }

    /// Writes the answer, or hands on what has to be done first.
    private func follow(
        _ step: ActionStep, _ frame: RequestFrame, _ form: PendingReply.Form,
        into batch: inout AnswerBatch
    ) throws(ProtocolError) -> Step {
        if frame.operation == .call, frame.bodyByteCount > 0 {
            guard case .receiveBody = step else {
                throw ProtocolError(.malformed, "this call must not have a body")
            }
        }
        var form = form
        switch step {
        case .write, .receiveBody:
            form.acknowledgement = try acknowledgement(
                asked: frame.flags.contains(.replicated) ? .replicated : nil)
        default: break
        }
        return try follow(step, .counted(frame.bodyByteCount), form, into: &batch)
    }

    private func refuse(
        _ error: ProtocolError, _ form: PendingReply.Form, _ frame: RequestFrame,
        into batch: inout AnswerBatch
    ) -> Step {
        respond(.problem(error), form, into: &batch)
        // Where the next frame begins is known, but a body that is too long is not worth waiting
        // for. What an operation takes that is not known here is not known either.
        if error.endsConnection || error.code == .payloadTooLarge { return .answeredThenClose }
        return frame.bodyByteCount == 0 ? .answered : .answeredThenSkip(frame.bodyByteCount)
    }

    /// A frame's operation, whose body is not too long.
    private func operation(of frame: RequestFrame) throws(ProtocolError) -> Opcode {
        guard let operation = frame.operation else {
            throw ProtocolError(.methodNotAllowed, "unknown operation \(frame.opcode)")
        }
        let bodyMax = bodyByteCountMax(of: operation, frame.flags)
        guard frame.bodyByteCount <= bodyMax else {
            throw ProtocolError(
                .payloadTooLarge,
                "the body is \(frame.bodyByteCount) bytes long; the limit for \(operation) is \(bodyMax)\(operation == .put ? " (max-payload)" : "")",
                limit: Int(clamping: bodyMax))
        }
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

    /// What a frame's head asks for.
    @inline(__always)
    private func request(
        _ operation: Opcode, _ frame: RequestFrame, _ head: RawSpan
    ) throws(ProtocolError) -> Request {
        switch operation {
        case .get:
            let get = try Get.Request.parse(head, flags: frame.flags)
            return .fetch(.part(id: get.id, part: get.part))
        case .getBlob:
            let get = try GetBlob.Request.parse(head, flags: frame.flags)
            guard let digest = Digest(bytes: get.digest.of(head)) else {
                throw ProtocolError(.badDigest, "the digest must be 32 bytes long")
            }
            return .fetch(.digest(digest))
        default: return .perform(try action(operation, frame, head))
        }
    }
}

extension RequestFrame {
    /// What is wrong with its place behind the beginning of the connection: the first frame, and no
    /// other, is hello.
    fileprivate func greetingProblem(isGreeted: Bool) -> ProtocolError? {
        guard isGreeted == (operation == .hello) else { return nil }
        if isGreeted { return ProtocolError(.malformed, "hello must be sent once") }
        let name = operation.map { "\($0)" } ?? "\(opcode)"
        return ProtocolError(.malformed, "the first frame must be hello, not \(name)")
    }
}

extension PayloadKey {
    /// What a log says of it.
    ///
    /// - Parameter text: what its slices are of.
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
    fileprivate func target(_ text: RawSpan) -> String {
        switch self {
        case .publish(let draft, _, _): draft.texts.id?.text ?? ""
        case .endpoint(let request): request.name
        case .watch(let query, _): query.owner
        case .check: ""
        }
    }
}

extension Opcode {
    /// What a request is counted as whose head is wrong.
    fileprivate var counted: Operation {
        switch self {
        case .hello, .ping: .probe
        case .put: .publish
        case .get, .getBlob: .fetch
        case .watch: .watch
        case .call: .unknown
        }
    }
}
