/// Why a frame's header ends the connection: where the next frame begins is not known, or what the
/// peer means is not.
public struct FrameError: Error, Sendable, Hashable {
    /// What to answer before closing.
    public let problem: ProtocolError
    /// The opcode to answer with, or 0 when the header was not whole.
    public let opcode: UInt8
    /// The request id to answer with, or 0 when the header was not whole.
    public let requestID: UInt32

    init(
        _ code: ErrorCode, _ detail: String, limit: Int? = nil, opcode: UInt8, requestID: UInt32
    ) {
        self.problem = ProtocolError(code, detail, limit: limit)
        self.opcode = opcode
        self.requestID = requestID
    }

    init(_ code: ErrorCode, _ detail: String, limit: Int? = nil, of frame: RequestFrame) {
        self.init(
            code, detail, limit: limit, opcode: frame.opcode, requestID: frame.requestID)
    }

    static func magic(_ byte: UInt8, expected: UInt8) -> FrameError {
        FrameError(
            .malformed, "the frame begins with byte \(byte); it must begin with \(expected)",
            opcode: 0, requestID: 0)
    }
}
