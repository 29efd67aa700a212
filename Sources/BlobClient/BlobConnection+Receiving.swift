import BlobProtocol
import Bytes

// Answers are received in the order of the requests. Each is checked before its bytes are used.

extension BlobConnection {
    /// Receives the answer to the oldest unanswered request. A failure of this request is an outcome; a failure that
    /// ends the connection is thrown.
    ///
    /// The bytes of a payload go to `sink` piece by piece, decompressed, each valid during the call. After `sink`
    /// returns false, the rest is received and discarded.
    public mutating func receive(
        _ sink: (PayloadInfo, RawSpan) -> Bool = { _, _ in true }
    ) throws(ClientError) -> Answer {
        if let failure { throw failure }
        if !output.isEmpty { try flush() }
        guard let request = unanswered.first else {
            preconditionFailure("an answer is awaited to a request that was never queued")
        }
        do throws(ClientError) {
            return try receiveAnswer(to: request, sink)
        } catch {
            throw fail(error)
        }
    }

    private mutating func receiveAnswer(
        to request: UnansweredRequest, _ sink: (PayloadInfo, RawSpan) -> Bool
    ) throws(ClientError) -> Answer {
        let (header, operation) = try receiveHeader()
        guard header.requestID == request.id, operation == request.operation else {
            // An error about the frame itself cannot name the request. The daemon closes the connection after it.
            if header.status >= 400, header.opcode == 0 { throw try receiveProblem(header) }
            throw .protocolViolation(
                "the answer is to request \(header.requestID), but \(request.id) is next")
        }
        guard !header.continues || request.flags.contains(.watch) else {
            throw .protocolViolation("the answer to request \(request.id) continues")
        }
        let outcome = try receiveOutcome(header, of: request, sink)
        if !header.continues { unanswered.removeFirst() }
        return Answer(requestID: request.id, outcome: outcome, continues: header.continues)
    }

    private mutating func receiveOutcome(
        _ header: ResponseFrame, of request: UnansweredRequest,
        _ sink: (PayloadInfo, RawSpan) -> Bool
    ) throws(ClientError) -> Answer.Outcome {
        if header.status >= 400 { return .failed(try receiveProblem(header)) }
        let head = try receiveHead(header)
        switch request.operation {
        case .get:
            let response = try parsed(head, Get.Response.parse)
            let info = PayloadInfo(response, head: head.span.bytes)
            return try receivePayload(header, info, of: request, sink)
        case .put:
            let response = try parsed(head, Put.Response.parse)
            _ = try receiveDocument(header, byteCountMax: 0)
            return .stored(PutReceipt(response, head: head.span.bytes, status: header.status))
        case .call:
            let response = try parsed(head, Call.Response.parse)
            let body = try receiveDocument(header, byteCountMax: Self.documentByteCountMax)
            return .called(
                CallAnswer(response, head: head.span.bytes, status: header.status, body))
        case .ping, .hello:
            _ = try receiveDocument(header, byteCountMax: WireLimits.pingBodyByteCountMax)
            return .done
        }
    }

    mutating func receiveHeader() throws(ClientError) -> (ResponseFrame, Opcode?) {
        let bytes = try receive(Wire.frameHeaderByteCount, "before its answer")
        do throws(FrameError) {
            guard let header = try ResponseFrame.parse(bytes.span.bytes) else {
                preconditionFailure("a whole header is there, and is either read or refused")
            }
            return (header, Opcode(rawValue: header.opcode))
        } catch {
            throw .protocolViolation(
                bytes.starts(with: "HTTP/".utf8)
                    ? "it is an HTTP server: the device socket, or another program. Use the main socket"
                    : error.problem.detail)
        }
    }

    mutating func receiveHead(_ header: ResponseFrame) throws(ClientError) -> [UInt8] {
        // At most 8,192, which parsing the header has checked.
        try receive(Int(header.headByteCount), "in the head of an answer")
    }

    private mutating func receive(
        _ count: Int, _ when: @autoclosure () -> String
    ) throws(ClientError) -> [UInt8] {
        try receiveAtLeast(count, when())
        let bytes = try input.withUnread { (bytes) throws(ClientError) in
            bytes.extracting(0..<count).array()
        }
        input.consume(count)
        return bytes
    }

    private mutating func receiveDocument(
        _ header: ResponseFrame, byteCountMax: Int
    ) throws(ClientError) -> [UInt8] {
        guard header.bodyByteCount <= UInt64(byteCountMax) else {
            throw .protocolViolation(
                "the body has \(header.bodyByteCount) bytes; the limit is \(byteCountMax)")
        }
        var document: [UInt8] = []
        document.reserveCapacity(Int(header.bodyByteCount))
        try receiveBody(header.bodyByteCount) { (piece) throws(ClientError) in
            piece.withUnsafeBytes { document.append(contentsOf: $0) }
        }
        return document
    }

    mutating func receiveProblem(_ header: ResponseFrame) throws(ClientError) -> ClientError {
        _ = try receiveHead(header)
        let document = try receiveDocument(header, byteCountMax: DaemonProblem.byteCountMax)
        let problem = DaemonProblem(status: Int(header.status), document: document)
        switch header.status {
        case 404: return .notFound(problem)
        case 410: return problem.code == "resync" ? .resync(problem) : .expired(problem)
        case 412: return .preconditionFailed(problem)
        default: return .refused(problem)
        }
    }

    mutating func receiveBody(
        _ byteCount: UInt64, _ take: (RawSpan) throws(ClientError) -> Void
    ) throws(ClientError) {
        var left = byteCount
        while left > 0 {
            try receiveAtLeast(1, "with \(left) of \(byteCount) bytes of a body missing")
            let count = Int(min(left, UInt64(input.count)))
            try input.withUnread { (bytes) throws(ClientError) in
                try take(bytes.extracting(0..<count))
            }
            input.consume(count)
            left -= UInt64(count)
        }
    }

    private mutating func receiveAtLeast(
        _ count: Int, _ when: @autoclosure () -> String
    ) throws(ClientError) {
        while input.count < count {
            if input.isAtEnd { throw .closed(when()) }
            try input.fill(from: socket)
        }
    }

    @discardableResult
    mutating func fail(_ error: ClientError) -> ClientError {
        if failure == nil { failure = error }
        return error
    }
}

func parsed<Response>(
    _ head: [UInt8], _ parse: (RawSpan) throws(ProtocolError) -> Response
) throws(ClientError) -> Response {
    do throws(ProtocolError) {
        return try parse(head.span.bytes)
    } catch {
        throw .protocolViolation(error.detail)
    }
}
