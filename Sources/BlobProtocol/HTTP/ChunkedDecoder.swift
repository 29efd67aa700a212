import Bytes

/// Decodes a chunked body (RFC 9112, section 7.1) that arrives in pieces of any size. Extensions and trailers are
/// checked and dropped. The payload is returned in place.
package struct ChunkedDecoder: Sendable, Hashable {
    package struct Step: Sendable, Hashable {
        package var consumed: Int
        /// The payload at the end of the consumed bytes; empty if there is none.
        package var payload: Slice
        /// Whether the body has ended. Bytes after `consumed` belong to the next request.
        package var isComplete: Bool
    }

    private enum State {
        case size, extensionBlank, chunkExtension, sizeLF
        case data, dataCR, dataLF
        case trailerStart, trailerName, trailerValue, trailerLF, endLF, complete
    }

    private var state = State.size
    /// The rest of the chunk, or its size as far as it has been read.
    private var chunkByteCount: UInt64 = 0
    private var digitCount = 0
    private var lineByteCount = 0
    private var trailerByteCount = 0

    package init() {}

    package var isComplete: Bool { state == .complete }

    /// How many bytes of the current chunk are still to arrive, as far as its size has been read.
    package var announcedByteCount: UInt64 {
        switch state {
        case .size, .extensionBlank, .chunkExtension, .sizeLF, .data: chunkByteCount
        default: 0
        }
    }

    /// Continues up to the end of the next piece of payload. Call it again with the remaining bytes. Throws
    /// `malformed`, or `headers_too_large` for a trailer section that is too long.
    package mutating func next(_ bytes: RawSpan) throws(ProtocolError) -> Step {
        var index = 0
        while index < bytes.byteCount, state != .complete {
            if state == .data {
                let left = UInt64(bytes.byteCount - index)
                let count = Int(min(left, chunkByteCount))
                chunkByteCount -= UInt64(count)
                if chunkByteCount == 0 { state = .dataCR }
                return Step(
                    consumed: index + count, payload: Slice(offset: index, count: count),
                    isComplete: false)
            }
            try advance(bytes.byte(index))
            index += 1
        }
        return Step(consumed: index, payload: .empty, isComplete: state == .complete)
    }

    private mutating func advance(_ byte: UInt8) throws(ProtocolError) {
        switch state {
        case .size, .extensionBlank, .chunkExtension: try sizeLine(byte)
        case .sizeLF:
            try expectLF(byte)
            state = chunkByteCount > 0 ? .data : .trailerStart
        case .dataCR:
            try require(byte == 0x0D, .malformed, "a chunk is longer than its size")
            state = .dataLF
        case .dataLF:
            try expectLF(byte)
            (state, chunkByteCount, digitCount, lineByteCount) = (.size, 0, 0, 0)
        case .trailerStart, .trailerName, .trailerValue: try trailer(byte)
        case .trailerLF:
            try expectLF(byte)
            try countTrailerByte()
            state = .trailerStart
        case .endLF:
            try expectLF(byte)
            state = .complete
        case .data, .complete: break
        }
    }

    /// `chunk-size [ chunk-ext ] CRLF`
    private mutating func sizeLine(_ byte: UInt8) throws(ProtocolError) {
        if byte != 0x0D { lineByteCount += 1 }
        let max = WireLimits.chunkLineByteCountMax
        try require(
            lineByteCount <= max, .malformed,
            "a chunk's size and extensions are over the limit of \(max) bytes", limit: max)
        switch state {
        case .size:
            if let value = Hex.value(byte) {
                try size(value)
            } else if digitCount == 0 {
                throw ProtocolError(.malformed, "a chunk has no size")
            } else if byte == 0x0D {
                state = .sizeLF
            } else if byte == UInt8(ascii: ";") {
                state = .chunkExtension
            } else if Token.isBlank(byte) {
                state = .extensionBlank
            } else {
                throw ProtocolError(.malformed, "a chunk's size is not hexadecimal")
            }
        case .extensionBlank:
            if byte == UInt8(ascii: ";") {
                state = .chunkExtension
            } else if !Token.isBlank(byte) {
                throw ProtocolError(
                    .malformed, "after a chunk's size, blanks must be followed by ;")
            }
        default:
            if byte == 0x0D {
                state = .sizeLF
            } else if !Token.isFieldContent(byte) {
                throw ProtocolError(.malformed, "a chunk's extension has a control character")
            }
        }
    }

    private mutating func size(_ digit: UInt8) throws(ProtocolError) {
        digitCount += 1
        try require(chunkByteCount >> 60 == 0, .malformed, "a chunk's size does not fit in 64 bits")
        chunkByteCount = chunkByteCount << 4 | UInt64(digit)
    }

    /// As in a head, no blank before the colon and no continuation lines.
    private mutating func trailer(_ byte: UInt8) throws(ProtocolError) {
        switch state {
        case .trailerValue:
            if byte == 0x0D {
                state = .trailerLF
            } else if !Token.isFieldContent(byte) {
                throw ProtocolError(
                    .malformed, "a trailer field has an invalid character")
            }
        case .trailerStart where byte == 0x0D: state = .endLF
        case .trailerName where byte == UInt8(ascii: ":"): state = .trailerValue
        default:
            try require(
                Token.isToken(byte), .malformed,
                state == .trailerStart
                    ? "the name of a trailer field has an invalid character"
                    : "a trailer field has no colon after its name")
            state = .trailerName
        }
        if state != .endLF { try countTrailerByte() }
    }

    private mutating func countTrailerByte() throws(ProtocolError) {
        trailerByteCount += 1
        let max = WireLimits.trailerSectionByteCountMax
        try require(
            trailerByteCount <= max, .headersTooLarge,
            "the trailer section is over the limit of \(max) bytes", limit: max)
    }

    private func expectLF(_ byte: UInt8) throws(ProtocolError) {
        try require(byte == 0x0A, .malformed, "a CR in a chunked body is not followed by LF")
    }
}
