import Bytes

// What the heads have in common: a part of fixed size whose last fields count the bytes of the
// texts that follow it, and nothing after them.

/// Hands out the texts after a head's fixed part, one after another.
struct HeadTexts {
    private var position: Int

    init(after fixedByteCount: Int) {
        position = fixedByteCount
    }

    mutating func next(_ count: Int) -> Slice {
        defer { position += count }
        return Slice(offset: position, count: count)
    }

    /// How many bytes of the head are after the texts so far; less than 0: they do not fit.
    func byteCountLeft(in head: RawSpan) -> Int { head.byteCount - position }

    /// Throws `malformed` unless the texts end where the head does. Called before any slice is
    /// used.
    func checkEnd(of head: RawSpan, _ operation: Opcode) throws(ProtocolError) {
        try require(
            position == head.byteCount, .malformed,
            "the head of \(operation) is \(head.byteCount) bytes long; the sum of its fields is \(position)"
        )
    }
}

extension RawSpan {
    /// Throws `malformed` when a head is shorter than its fixed part.
    func checkFixedPart(_ byteCount: Int, _ operation: Opcode) throws(ProtocolError) {
        try require(
            self.byteCount >= byteCount, .malformed,
            "the head of \(operation) is \(self.byteCount) bytes long; it must have at least \(byteCount)"
        )
    }

    /// Throws `reserved` unless the bytes from `lower` up to `upper` are zero.
    func checkReserved(
        from lower: Int, upTo upper: Int, _ operation: Opcode
    ) throws(ProtocolError) {
        try require(
            isZero(from: lower, upTo: upper), .reserved,
            "bytes \(lower)…\(upper - 1) of the head of \(operation) must be 0")
    }
}

/// A ping, whose body is given back.
public enum Ping {
    /// Throws `malformed` when it has a head.
    public static func check(_ head: RawSpan) throws(ProtocolError) {
        try require(
            head.byteCount == 0, .malformed,
            "the head of ping is \(head.byteCount) bytes long; it must be empty")
    }
}
