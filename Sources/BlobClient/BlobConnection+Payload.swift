import BlobProtocol
import Hashing

extension BlobConnection {
    /// Receives the body of a get: inflates what came compressed, counts, and compares the digest
    /// of what was fetched whole.
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

    /// How many bytes as given the answer's head announces. Throws when head and header contradict
    /// each other or the request.
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
