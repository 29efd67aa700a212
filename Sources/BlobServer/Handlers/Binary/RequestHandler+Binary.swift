import BlobProtocol
import BlobStore
import Bytes

// A frame's way: its head is read, what it reads must be committed, and then it is answered.
// `docs/PROTOCOL.md` draws the frames.

extension RequestHandler {
    /// Answers the frame at the start of `bytes`.
    func nextFrame(
        _ bytes: RawSpan, of connection: inout Session, _ hasWaited: Bool,
        in snapshot: borrowing Snapshot, into batch: inout AnswerBatch, consumed: inout Int
    ) -> Step {
        let frame: RequestFrame
        do throws(FrameError) {
            guard let parsed = try RequestFrame.parse(bytes) else { return .needsInput }
            frame = parsed
        } catch {
            counters.requests.add()
            let answer = RequestFrame(
                opcode: error.opcode, flags: [], requestID: error.requestID, headByteCount: 0,
                bodyByteCount: 0)
            respond(.problem(error.problem), .binary(answer), into: &batch)
            return .answeredThenClose
        }
        // At most 8,216 bytes: the parser has checked the head's size.
        let headEnd = Wire.frameHeaderByteCount + Int(frame.headByteCount)
        guard bytes.byteCount >= headEnd else { return .needsInput }
        let head = bytes.extracting(Wire.frameHeaderByteCount..<headEnd)
        var end = headEnd
        if let problem = frame.greetingProblem(isGreeted: connection.isGreeted) {
            counters.requests.add()
            consumed = end
            respond(.problem(problem), .binary(frame), into: &batch)
            return .answeredThenClose
        }
        let request: Request
        do throws(ProtocolError) {
            switch try operation(of: frame) {
            case .hello:
                _ = try Hello.Request.parse(head)
                connection.isGreeted = true
                counters.requests.add()
                consumed = end
                BinaryCodec.appendHello(store.id, limits, frame, into: &batch)
                return .answered
            case .ping:
                try EmptyHead.check(head, .ping)
                // At most 1,024 bytes, so that the whole of it is waited for.
                end += Int(frame.bodyByteCount)
                guard bytes.byteCount >= end else { return .needsInput }
                request = .perform(.check(.ping(bytes.extracting(headEnd..<end).array())))
            case let operation: request = try self.request(operation, frame, head)
            }
        } catch {
            counters.requests.add()
            consumed = headEnd
            return refuse(error, frame, into: &batch)
        }
        if let retry = retry(request, head, hasWaited, in: snapshot) { return retry }
        consumed = end
        do throws(ProtocolError) {
            switch request {
            case .fetch(let key):
                try appendPayload(
                    try payload(key, head, in: snapshot), frame, head, in: snapshot, into: &batch)
                return .answered
            case .perform(let action):
                let step = try perform(action, head, in: snapshot)
                return try follow(step, frame, into: &batch)
            }
        } catch {
            return refuse(error, frame, into: &batch)
        }
    }

    /// Writes the answer, or hands on what has to be done first.
    private func follow(
        _ step: ActionStep, _ frame: RequestFrame, into batch: inout AnswerBatch
    ) throws(ProtocolError) -> Step {
        if frame.operation == .call, frame.bodyByteCount > 0 {
            guard case .receiveBody = step else {
                throw ProtocolError(.malformed, "this call must not have a body")
            }
        }
        return try follow(step, .counted(frame.bodyByteCount), .binary(frame), into: &batch)
    }

    private func refuse(
        _ error: ProtocolError, _ frame: RequestFrame, into batch: inout AnswerBatch
    ) -> Step {
        respond(.problem(error), .binary(frame), into: &batch)
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
                "the body is \(frame.bodyByteCount) bytes long; the limit for \(operation) is \(bodyMax)",
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
