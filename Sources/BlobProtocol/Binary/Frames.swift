import Bytes

// A frame is a header of 24 bytes, a head and a body (`docs/PROTOCOL.md`).

/// The header of a request.
public struct RequestFrame: Sendable, Hashable {
    /// The operation's number as sent, which this version may not know.
    public var opcode: UInt8
    /// The flags, checked if the operation is known.
    public var flags: RequestFlags
    /// The client's number for the request, returned in the answer.
    public var requestID: UInt32
    /// The size of the head after the header, in bytes, at most `frameHeadByteCountMax`.
    public var headByteCount: UInt32
    /// The size of the body, in bytes: not limited until it is compared with a limit.
    public var bodyByteCount: UInt64

    /// The operation; nil if this version does not know it: answer 405, and skip head and body.
    public var operation: Opcode? { Opcode(rawValue: opcode) }

    /// Creates a header for an operation.
    public init(
        _ operation: Opcode, flags: RequestFlags = [], requestID: UInt32, headByteCount: UInt32,
        bodyByteCount: UInt64
    ) {
        self.init(
            opcode: operation.rawValue, flags: flags, requestID: requestID,
            headByteCount: headByteCount, bodyByteCount: bodyByteCount)
    }

    /// Creates a header with any opcode.
    public init(
        opcode: UInt8, flags: RequestFlags, requestID: UInt32, headByteCount: UInt32,
        bodyByteCount: UInt64
    ) {
        self.opcode = opcode
        self.flags = flags
        self.requestID = requestID
        self.headByteCount = headByteCount
        self.bodyByteCount = bodyByteCount
    }

    /// Reads the header at the start of `bytes`; nil if more bytes are needed. Throws if the connection cannot
    /// continue; a wrong first byte is reported at once.
    public static func parse(_ bytes: RawSpan) throws(FrameError) -> RequestFrame? {
        guard try bytes.holdsFrameHeader(Wire.requestMagic) else { return nil }
        let frame = RequestFrame(
            opcode: bytes.byte(1),
            flags: RequestFlags(rawValue: bytes.integer(2, as: UInt16.self)),
            requestID: bytes.integer(4, as: UInt32.self),
            headByteCount: bytes.integer(8, as: UInt32.self),
            bodyByteCount: bytes.integer(16, as: UInt64.self))
        guard let operation = frame.operation else { return frame }
        let unknown = frame.flags.subtracting(operation.knownFlags)
        guard unknown.isEmpty else {
            throw FrameError(
                .reserved, "unknown flags \(unknown.rawValue) for the operation \(operation)",
                of: bytes)
        }
        return frame
    }

    /// Appends the 24 bytes.
    public func compose(into out: inout [UInt8]) {
        out.append(Wire.requestMagic)
        out.append(opcode)
        out.append(littleEndian: flags.rawValue)
        out.append(littleEndian: requestID)
        out.append(littleEndian: headByteCount)
        out.append(littleEndian: UInt32(0))
        out.append(littleEndian: bodyByteCount)
    }

    /// Appends a header and the head that `head` appends. If that throws, `out` is unchanged.
    public static func compose(
        _ operation: Opcode, flags: RequestFlags = [], requestID: UInt32, bodyByteCount: UInt64 = 0,
        into out: inout [UInt8],
        head: (inout [UInt8]) throws(ProtocolError) -> Void = { _ throws(ProtocolError) in }
    ) throws(ProtocolError) {
        let start = out.count
        RequestFrame(
            operation, flags: flags, requestID: requestID, headByteCount: 0,
            bodyByteCount: bodyByteCount
        ).compose(into: &out)
        do throws(ProtocolError) {
            try head(&out)
            let count = out.count - start - Wire.frameHeaderByteCount
            let max = WireLimits.frameHeadByteCountMax
            try require(
                count <= max, .malformed,
                "the head is \(count) bytes long; the limit is \(max)", limit: max)
            out.replace(at: start + 8, littleEndian: UInt32(count))
        } catch {
            out.removeLast(out.count - start)
            throw error
        }
    }
}

/// The header of a response.
public struct ResponseFrame: Sendable, Hashable {
    /// The opcode of the request.
    public var opcode: UInt8
    /// The outcome, as an HTTP status. From 400 on, the body is a problem document.
    public var status: UInt16
    /// The client's number for the request.
    public var requestID: UInt32
    /// The size of the head after the header, in bytes, at most `frameHeadByteCountMax`.
    public var headByteCount: UInt32
    /// Whether another response to the same request will follow.
    public var continues: Bool
    /// The size of the body after the head, in bytes.
    public var bodyByteCount: UInt64

    /// Creates a header with these values.
    public init(
        opcode: UInt8, status: UInt16, requestID: UInt32, headByteCount: UInt32,
        bodyByteCount: UInt64, continues: Bool = false
    ) {
        self.opcode = opcode
        self.status = status
        self.requestID = requestID
        self.headByteCount = headByteCount
        self.bodyByteCount = bodyByteCount
        self.continues = continues
    }

    /// Creates a header that answers `request`.
    public init(
        answering request: RequestFrame, status: UInt16, headByteCount: UInt32 = 0,
        bodyByteCount: UInt64 = 0, continues: Bool = false
    ) {
        self.init(
            opcode: request.opcode, status: status, requestID: request.requestID,
            headByteCount: headByteCount, bodyByteCount: bodyByteCount, continues: continues)
    }

    /// Reads the header at the start of `bytes`; nil if more bytes are needed.
    public static func parse(_ bytes: RawSpan) throws(FrameError) -> ResponseFrame? {
        guard try bytes.holdsFrameHeader(Wire.responseMagic, flagMax: 1) else { return nil }
        return ResponseFrame(
            opcode: bytes.byte(1),
            status: bytes.integer(2, as: UInt16.self),
            requestID: bytes.integer(4, as: UInt32.self),
            headByteCount: bytes.integer(8, as: UInt32.self),
            bodyByteCount: bytes.integer(16, as: UInt64.self),
            continues: bytes.integer(12, as: UInt32.self) == 1)
    }

    /// Appends the 24 bytes.
    public func compose(into out: inout [UInt8]) {
        var header = InlineArray<24, UInt8>(repeating: 0)
        var span = header.mutableSpan
        var bytes = span.mutableBytes
        store(into: &bytes)
        out.append(contentsOf: header.span.bytes)
    }

    /// Writes the 24 bytes to the start of a buffer.
    @inline(__always)
    func store(into bytes: inout MutableRawSpan) {
        bytes.storeBytes(of: Wire.responseMagic, toByteOffset: 0, as: UInt8.self)
        bytes.storeBytes(of: opcode, toByteOffset: 1, as: UInt8.self)
        bytes.storeBytes(of: status.littleEndian, toByteOffset: 2, as: UInt16.self)
        bytes.storeBytes(of: requestID.littleEndian, toByteOffset: 4, as: UInt32.self)
        bytes.storeBytes(of: headByteCount.littleEndian, toByteOffset: 8, as: UInt32.self)
        bytes.storeBytes(
            of: UInt32(continues ? 1 : 0).littleEndian, toByteOffset: 12, as: UInt32.self)
        bytes.storeBytes(of: bodyByteCount.littleEndian, toByteOffset: 16, as: UInt64.self)
    }
}

extension RawSpan {
    /// Whether a whole header has arrived. Throws for errors that both kinds have in common.
    @inline(__always)
    fileprivate func holdsFrameHeader(
        _ magic: UInt8, flagMax: UInt32 = 0
    ) throws(FrameError) -> Bool {
        guard byteCount > 0 else { return false }
        guard byte(0) == magic else {
            throw FrameError(
                .malformed, "the frame begins with byte \(byte(0)); it must begin with \(magic)")
        }
        guard byteCount >= Wire.frameHeaderByteCount else { return false }
        let headByteCount = integer(8, as: UInt32.self)
        let max = WireLimits.frameHeadByteCountMax
        guard headByteCount <= max else {
            throw FrameError(
                .malformed,
                "the header announces a head of \(headByteCount) bytes; the limit is \(max)",
                limit: max, of: self)
        }
        let reserved = integer(12, as: UInt32.self)
        guard reserved <= flagMax else {
            throw FrameError(
                .reserved,
                "the field at byte 12 of the header is \(reserved); the maximum is \(flagMax)",
                of: self)
        }
        return true
    }
}

/// Why a frame's header ends the connection: the start of the next frame is unknown.
public struct FrameError: Error, Sendable, Hashable {
    /// The error to answer before closing.
    public let problem: ProtocolError
    /// The opcode to answer with; 0 if the header was incomplete.
    public let opcode: UInt8
    /// The request id to answer with; 0 if the header was incomplete.
    public let requestID: UInt32

    fileprivate init(
        _ code: ErrorCode, _ detail: String, limit: Int? = nil, of header: RawSpan = RawSpan()
    ) {
        problem = ProtocolError(code, detail, limit: limit)
        opcode = header.isEmpty ? 0 : header.byte(1)
        requestID = header.isEmpty ? 0 : header.integer(4, as: UInt32.self)
    }
}
