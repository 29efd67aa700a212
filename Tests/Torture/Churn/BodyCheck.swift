import BlobClient
import Bytes
import Hashing

/// Compares the body of one answer with the edition that its head names.
struct BodyCheck {
    private let head: PayloadHead
    private let edition: Edition
    private let range: Range<Int>
    private let expected: [UInt8]
    /// The position of the next byte in the payload.
    private var offset: Int
    private var hash: SHA256?
    /// The stream of a gzip-coded body, which is compared when it is whole.
    private var coded: [UInt8] = []

    /// Takes what the head says as far as it is right. Throws a ``WrongAnswer`` otherwise.
    init(_ head: PayloadHead, of edition: Edition, wanted: ReadingPlan.Wanted) throws {
        (self.head, self.edition, expected) = (head, edition, edition.payload.bytes())
        range =
            wanted.range.map { $0.lowerBound..<min($0.upperBound, edition.byteCount) }
            ?? 0..<edition.byteCount
        offset = range.lowerBound
        hash = wanted.range == nil ? SHA256() : nil
        try Self.require(
            head.status == (wanted.range == nil ? 200 : 206) && head.first == range.lowerBound
                && (head.isGzip || head.bodyByteCount == range.count)
                && head.payloadByteCount ?? edition.byteCount == edition.byteCount,
            "the head says status \(head.status), \(head.bodyByteCount) bytes from \(head.first) on, of "
                + "\(head.payloadByteCount.map { "\($0)" } ?? "?"); right were \(range.count) from "
                + "\(range.lowerBound) on, of \(edition.byteCount)")
        try Self.require(
            head.digest != nil && (!head.isGzip || wanted.acceptsGzip),
            "the head says no digest, or gzip to a reader that does not take it")
    }

    /// Bytes as given that were right so far.
    var byteCount: Int { offset - range.lowerBound }

    /// Compares the next `count` bytes of the body, at the start of `bytes`; what lies behind them
    /// only helps to say what is wrong. Throws a ``WrongAnswer``.
    mutating func compare(_ count: Int, of bytes: RawSpan) throws {
        let piece = bytes.extracting(first: count)
        if head.isGzip { coded.append(contentsOf: piece) } else { try take(piece, of: bytes) }
    }

    private mutating func take(_ piece: RawSpan, of bytes: RawSpan) throws {
        let expected = expected
        let count = min(piece.byteCount, expected.count - offset)
        let right = expected.span.bytes.extracting(offset..<offset + count)
        guard count == piece.byteCount, piece.equals(right) else {
            let place = (0..<count).first { piece.byte($0) != right.byte($0) } ?? count
            let found =
                Edition.description(ofBlockIn: bytes, from: place)
                ?? "no block of any edition begins in the \(bytes.byteCount - place) bytes from there on"
            throw WrongAnswer(
                .wrongBytes, "the bytes are wrong from byte \(offset + place) on; \(found)")
        }
        hash?.update(piece)
        offset += count
    }

    /// All bytes have been compared. Throws a ``WrongAnswer`` unless they were all there are, with
    /// the right digest.
    mutating func finish() throws {
        if head.isGzip {
            var inflated: [UInt8] = []
            do throws(ClientError) {
                var reader = try GzipReader()
                try reader.read(coded.span.bytes) { inflated.append(contentsOf: $0) }
                try reader.finish()
            } catch {
                // Another payload's noise is found in the stream itself.
                let found =
                    Edition.description(ofBlockIn: coded.span.bytes, from: 0)
                    ?? "no block of any edition begins in it"
                throw WrongAnswer(
                    .wrongBytes,
                    "the gzip stream of \(coded.count) bytes is damaged: \(error); \(found)")
            }
            try take(inflated.span.bytes, of: inflated.span.bytes)
        }
        try Self.require(
            offset == range.upperBound,
            "the bytes end at \(offset); right was \(range.upperBound)")
        guard let hash else { return }
        let bytes = hash.digest()
        let digest = PayloadDigest(bytes: bytes.span.bytes)
        try Self.require(
            digest == head.digest,
            "the bytes have the digest \(digest.map { "\($0)" } ?? "-"), the head says "
                + "\(head.digest.map { "\($0)" } ?? "-")")
    }

    private static func require(_ condition: Bool, _ what: @autoclosure () -> String) throws {
        if !condition { throw WrongAnswer(.wrongBytes, what()) }
    }
}
