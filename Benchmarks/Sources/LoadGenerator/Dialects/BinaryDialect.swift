internal import BlobProtocol

/// The binary protocol of `blobd` (`docs/PROTOCOL.md`).
public struct BinaryDialect: LoadDialect {
    /// `binary`.
    public let name = "binary"
    /// A hello with this version of the protocol.
    public let opening: [UInt8]
    private let ttlSeconds: Int64

    /// Creates the dialect. By default, its payloads are kept for two hours.
    public init(ttlSeconds: Int64 = HTTPDialect.ttlSecondsUsual) {
        self.ttlSeconds = ttlSeconds
        var bytes: [UInt8] = []
        // A head of four bytes is within every limit, so this cannot fail.
        try? RequestFrame.compose(.hello, requestID: 0, into: &bytes) {
            (head: inout [UInt8]) throws(ProtocolError) in
            Hello.Request().compose(into: &head)
        }
        opening = bytes
    }

    /// A get. See ``LoadDialect/appendFetch(of:to:)``.
    public func appendFetch(of item: LoadItem, to bytes: inout [UInt8]) throws(LoadFailure) {
        do throws(ProtocolError) {
            try RequestFrame.compose(.get, requestID: Self.requestID(of: item), into: &bytes) {
                (head: inout [UInt8]) throws(ProtocolError) in
                try Get.Request.compose(id: item.id, into: &head)
            }
        } catch {
            throw LoadFailure(.options, error.detail)
        }
    }

    /// A put with a TTL and the owner. See ``LoadDialect/appendPublish(of:to:)``.
    public func appendPublish(of item: LoadItem, to bytes: inout [UInt8]) throws(LoadFailure) {
        do throws(ProtocolError) {
            try RequestFrame.compose(
                .put, flags: .ttlGiven, requestID: Self.requestID(of: item),
                bodyByteCount: UInt64(item.byteCount), into: &bytes
            ) { (head: inout [UInt8]) throws(ProtocolError) in
                let draft = Put.Draft(
                    id: item.id, owner: item.owner, lifetime: .seconds(ttlSeconds))
                try draft.compose(into: &head)
            }
        } catch {
            throw LoadFailure(.options, error.detail)
        }
    }

    /// A watch, once. See ``LoadDialect/appendWatch(of:after:to:)``.
    public func appendWatch(
        of owner: String, after answer: RawSpan?, to bytes: inout [UInt8]
    ) throws(LoadFailure) {
        guard answer == nil else { return }
        do throws(ProtocolError) {
            let target = "/v1/users/\(owner)/changes"
            try RequestFrame.compose(.call, flags: .watch, requestID: 0, into: &bytes) {
                (head: inout [UInt8]) throws(ProtocolError) in
                try Call.Request.compose(.get, target: target, into: &head)
            }
        } catch {
            throw LoadFailure(.options, error.detail)
        }
    }

    private static func requestID(of item: LoadItem) -> UInt32 {
        UInt32(truncatingIfNeeded: item.index)
    }

    /// Reads a frame's header and head. See ``LoadDialect/answerHead(in:to:)``.
    public func answerHead(
        in bytes: RawSpan, to kind: RequestKind
    ) throws(LoadFailure) -> AnswerHead? {
        let opcode =
            switch kind {
            case .opening: Opcode.hello
            case .fetch: Opcode.get
            case .publish: Opcode.put
            }
        // The usual answer has a fixed magic, opcode and status. Others are parsed below.
        let usual = UInt32(Wire.responseMagic) | UInt32(opcode.rawValue) << 8 | 200 << 16
        if bytes.byteCount >= Wire.frameHeaderByteCount,
            bytes.unsafeLoadUnaligned(as: UInt32.self) == usual
        {
            let head = bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self)
            let body = bytes.unsafeLoadUnaligned(fromByteOffset: 16, as: UInt64.self)
            if head <= UInt64(bytes.byteCount - Wire.frameHeaderByteCount), body <= 1 << 62 {
                return AnswerHead(
                    headByteCount: Wire.frameHeaderByteCount + Int(head), bodyByteCount: Int(body))
            }
        }
        let frame: ResponseFrame
        do throws(FrameError) {
            guard let parsed = try ResponseFrame.parse(bytes) else { return nil }
            frame = parsed
        } catch {
            throw LoadFailure(.server, error.problem.detail)
        }
        guard frame.status == 200 || frame.status == 201, frame.opcode == opcode.rawValue else {
            throw LoadFailure(
                .server, "the server answered \(frame.status) to operation \(frame.opcode)")
        }
        // The head is within its limit, or parsing would have failed.
        let headByteCount = Wire.frameHeaderByteCount + Int(frame.headByteCount)
        guard bytes.byteCount >= headByteCount else { return nil }
        return AnswerHead(
            headByteCount: headByteCount, bodyByteCount: Int(clamping: frame.bodyByteCount))
    }
}
