import BlobClient
import BlobProtocol
import Bytes
import Hashing
import TestSupport

/// Compares the body of one answer with the edition that its head names.
struct BodyCheck {
    private let head: AnswerHead
    private let edition: Edition
    private let range: Range<Int>
    private var checker: EditionChecker
    private var hash: SHA256?
    /// The stream of a gzip-coded body, which is compared when it is whole.
    private var coded: [UInt8] = []

    /// Takes what the head says as far as it is right. Throws a ``WrongAnswer`` otherwise.
    init(_ head: AnswerHead, of edition: Edition, wanted: ReadingPlan.Wanted) throws {
        self.head = head
        self.edition = edition
        range =
            wanted.range.map { $0.lowerBound..<min($0.upperBound, edition.byteCount) }
            ?? 0..<edition.byteCount
        checker = EditionChecker(edition, from: range.lowerBound)
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
    var byteCount: Int { checker.offset - range.lowerBound }

    /// Compares the next `count` bytes of the body, at the start of `bytes`; what lies behind them
    /// only helps to say what is wrong. Throws a ``WrongAnswer``.
    mutating func compare(_ count: Int, of bytes: RawSpan) throws {
        let piece = bytes.extracting(first: count)
        guard !head.isGzip else { return coded.append(contentsOf: piece) }
        if let place = checker.firstDifference(in: piece) {
            throw Self.wrong(at: checker.offset, bytes, place)
        }
        Self.add(piece, to: &hash)
    }

    /// Compares what a whole gzip stream holds.
    private mutating func compareInflated() throws {
        // Both are changed inside the closure, of which they cannot be part as `self`.
        var (checker, hash) = (checker, hash)
        defer { (self.checker, self.hash) = (checker, hash) }
        var difference: Int?
        do throws(ClientError) {
            var reader = try GzipReader()
            try reader.read(coded.span.bytes) { part in
                if difference == nil, checker.firstDifference(in: part) != nil {
                    difference = checker.offset
                }
                Self.add(part, to: &hash)
            }
            try reader.finish()
        } catch {
            // Another payload's noise is found in the stream itself.
            let found =
                Edition.description(ofBlockIn: coded.span.bytes, from: 0)
                ?? "no block of any edition begins in it"
            throw WrongAnswer(
                .bytes, "the gzip stream of \(coded.count) bytes is damaged: \(error); \(found)")
        }
        if let difference {
            throw WrongAnswer(.bytes, "the inflated bytes are wrong from byte \(difference) on")
        }
    }

    /// All bytes have been compared. Throws a ``WrongAnswer`` unless they were all there are, with
    /// the right digest.
    mutating func finish() throws {
        if head.isGzip { try compareInflated() }
        try Self.require(
            checker.offset == range.upperBound,
            "the bytes end at \(checker.offset); right was \(range.upperBound)")
        guard let hash else { return }
        let bytes = hash.digest()
        let digest = PayloadDigest(bytes: bytes.span.bytes)
        try Self.require(
            digest == head.digest,
            "the bytes have the digest \(digest.map { "\($0)" } ?? "-"), the head says "
                + "\(head.digest.map { "\($0)" } ?? "-")")
    }

    private static func add(_ piece: RawSpan, to hash: inout SHA256?) {
        hash?.update(piece)
    }

    private static func wrong(at offset: Int, _ bytes: RawSpan, _ place: Int) -> WrongAnswer {
        let found =
            Edition.description(ofBlockIn: bytes, from: place)
            ?? "no block of any edition begins in the \(bytes.byteCount - place) bytes from there on"
        return WrongAnswer(.bytes, "the bytes are wrong from byte \(offset) on; \(found)")
    }

    private static func require(_ condition: Bool, _ what: @autoclosure () -> String) throws {
        if !condition { throw WrongAnswer(.bytes, what()) }
    }
}
