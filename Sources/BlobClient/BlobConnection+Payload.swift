import BlobProtocol
import Hashing
import Zlib

extension BlobConnection {
    mutating func receivePayload(
        _ header: ResponseFrame, _ info: PayloadInfo, of request: UnansweredRequest,
        _ sink: (PayloadInfo, RawSpan) -> Bool
    ) throws(ClientError) -> Answer.Outcome {
        let isHeadOnly = request.flags.contains(.headOnly)
        let promised = try promisedByteCount(header, info, isHeadOnly: isHeadOnly)
        var received: UInt64 = 0
        var isWanted = true
        var hash = SHA256()
        let isHashed = options.checksDigests && promised == info.byteCount && !isHeadOnly

        func take(_ piece: RawSpan) throws(ClientError) {
            received += UInt64(piece.byteCount)
            guard received <= promised else {
                throw ClientError.protocolViolation(
                    "the payload is longer than the announced \(promised) bytes")
            }
            guard isWanted else { return }
            if isHashed { hash.update(piece) }
            isWanted = sink(info, piece)
        }

        if info.isCompressed, !isHeadOnly {
            var gzip = try GzipReader()
            try receiveBody(header.bodyByteCount) { (piece) throws(ClientError) in
                try gzip.read(piece, take)
            }
            try gzip.finish()
        } else {
            try receiveBody(header.bodyByteCount, take)
        }
        guard received == promised else {
            throw ClientError.protocolViolation(
                "the payload has \(received) of the announced \(promised) bytes")
        }
        if isHashed, isWanted {
            let digest = PayloadDigest(hash.digest())
            guard digest == info.digest else {
                return .failed(.digestMismatch(expected: info.digest, got: digest))
            }
        }
        return .payload(info)
    }

    /// The announced number of bytes, decompressed. Throws if head and header contradict each other or the request.
    private func promisedByteCount(
        _ header: ResponseFrame, _ info: PayloadInfo, isHeadOnly: Bool
    ) throws(ClientError) -> UInt64 {
        if isHeadOnly {
            guard header.bodyByteCount == 0 else {
                throw ClientError.protocolViolation(
                    "the answer has a body, but only the head was requested")
            }
            return 0
        }
        if header.status == 206 {
            let (end, overflows) = info.first.addingReportingOverflow(header.bodyByteCount)
            guard !info.isCompressed, !overflows, end <= info.byteCount else {
                throw ClientError.protocolViolation(
                    "the range has \(header.bodyByteCount) bytes from byte \(info.first) on, "
                        + "but the payload has \(info.byteCount) bytes")
            }
            return header.bodyByteCount
        }
        guard info.isCompressed || header.bodyByteCount == info.byteCount else {
            throw ClientError.protocolViolation(
                "the body has \(header.bodyByteCount) bytes, but the payload has \(info.byteCount)")
        }
        return info.byteCount
    }
}

/// Inflates a gzip stream that arrives in pieces, in bounded memory: 64 KiB and zlib's window.
package struct GzipReader: ~Copyable {
    private static let bufferByteCount = 65_536

    private let stream: ZStream
    private var buffer = [UInt8](repeating: 0, count: GzipReader.bufferByteCount)
    private var isAtEnd = false

    package init() throws(ClientError) {
        do throws(ZStream.NoMemory) {
            stream = try ZStream(inflating: .gzip)
        } catch {
            throw ClientError.protocolViolation("zlib has no memory")
        }
    }

    package mutating func read(
        _ piece: RawSpan, _ sink: (RawSpan) throws(ClientError) -> Void
    ) throws(ClientError) {
        var used = 0
        while !isAtEnd {
            let rest = piece.extracting(used..<piece.byteCount)
            let (outcome, consumed, produced) = stream.run(
                rest, into: &buffer, count: buffer.count)
            used += consumed
            guard outcome != .damaged, outcome != .noMemory else {
                throw ClientError.protocolViolation("damaged gzip stream")
            }
            if produced > 0 { try sink(buffer.span.bytes.extracting(0..<produced)) }
            isAtEnd = outcome == .ended
            // If it produces nothing more, the piece is used up.
            guard produced > 0 || isAtEnd else {
                guard used == piece.byteCount else {
                    throw ClientError.protocolViolation("truncated gzip stream")
                }
                return
            }
        }
        guard used == piece.byteCount else {
            throw ClientError.protocolViolation("bytes after the end of a gzip stream")
        }
    }

    package func finish() throws(ClientError) {
        guard isAtEnd else {
            throw ClientError.protocolViolation("truncated gzip stream")
        }
    }
}
