internal import Hashing
internal import Zlib

/// Decodes a gzip coding (RFC 1952) of one member or several that comes in pieces, or a deflate coding, which is
/// one zlib container (RFC 1950). It needs some 110 KiB. One thread at a time.
final class GzipDecoder {
    enum Container: String { case gzip, deflate }

    private let stream: ZStream
    private let container: Container
    private var output = [UInt8](repeating: 0, count: pieceByteCount)
    private var isInMember = false
    private(set) var memberCount = 0
    private(set) var byteCount = 0
    private let byteCountMax: Int
    private let field: InvalidInput.Field

    /// The longest piece that is handed on.
    static let pieceByteCount = 64 << 10

    /// - Parameters:
    ///   - byteCountMax: more bytes must not come out.
    ///   - field: what is decoded, for the error then.
    init(
        _ container: Container = .gzip, byteCountMax: Int, of field: InvalidInput.Field = .payload
    ) throws(StoreError) {
        self.container = container
        self.byteCountMax = byteCountMax
        self.field = field
        do throws(ZStream.NoMemory) {
            stream = try ZStream(inflating: container == .gzip ? .gzip : .zlib)
        } catch {
            throw .io(operation: "inflateInit2", errno: 12)
        }
    }

    /// Decodes `input` and hands on what comes out, in pieces that are good for the time of a call.
    func decode(
        _ input: RawSpan, _ take: (RawSpan) throws(StoreError) -> Void
    ) throws(StoreError) {
        var used = 0
        while used < input.byteCount {
            if !isInMember { try beginMember() }
            let rest = input.extracting(used..<input.byteCount)
            used += try step(rest, take)
        }
    }

    /// The input has ended.
    func finish() throws(StoreError) {
        guard memberCount > 0, !isInMember else { throw refused("is truncated") }
    }

    private func beginMember() throws(StoreError) {
        if memberCount > 0 {
            guard container == .gzip else { throw refused("has bytes after its end") }
            guard stream.reset() else {
                throw .io(operation: "inflateReset", errno: 5)
            }
        }
        memberCount += 1
        isInMember = true
    }

    /// Calls `inflate` until all of `input` is used, or a member ends. Returns how many bytes were used.
    private func step(
        _ input: RawSpan, _ take: (RawSpan) throws(StoreError) -> Void
    ) throws(StoreError) -> Int {
        var used = 0
        while true {
            let (outcome, consumed, produced) = stream.run(
                input.extracting(used..<input.byteCount), into: &output, count: Self.pieceByteCount)
            used += consumed
            if produced > 0 {
                guard produced <= byteCountMax - byteCount else {
                    throw .invalid(
                        InvalidInput(
                            field: field,
                            reason: "is over the limit of \(byteCountMax) bytes "
                                + "when decompressed", limit: byteCountMax))
                }
                byteCount += produced
                // A second reference, gone before the next piece is written.
                let piece = output
                try take(piece.span.bytes.extracting(first: produced))
            }
            switch outcome {
            case .ended:
                isInMember = false
                return used
            case .continues where produced == Self.pieceByteCount:
                // There may be more to come out.
                continue
            case .continues, .stalled:
                return used
            case .noMemory: throw .io(operation: "inflate", errno: 12)
            case .damaged:
                throw refused(
                    memberCount > 1 && stream.producedByteCount == 0
                        ? "has bytes after its end" : "is damaged or not \(container.rawValue)")
            }
        }
    }

    private func refused(_ reason: String) -> StoreError {
        .invalid(
            InvalidInput(field: .contentCoding, reason: "\(container.rawValue) \(reason)"))
    }
}

extension BodyCoding {
    /// What the bytes are decoded from; nil: they come as they are.
    var container: GzipDecoder.Container? {
        switch self {
        case .identity: nil
        case .gzip: .gzip
        case .deflate: .deflate
        }
    }
}

/// What is inside a gzip or deflate coding that was handed in.
struct CodedContent {
    private let container: GzipDecoder.Container
    let digest: Digest
    let byteCount: Int
    let memberCount: Int

    /// Decodes `content` once and keeps nothing of it: bounded memory, whatever is inside. It ends as soon as
    /// more comes out than `byteCountMax`.
    init(
        of content: StoredContent, _ container: GzipDecoder.Container, byteCountMax: Int
    ) throws(StoreError) {
        self.container = container
        let decoder = try GzipDecoder(container, byteCountMax: byteCountMax)
        var hash = SHA256()
        try content.forEachChunk { (_, bytes) throws(StoreError) in
            try decoder.decode(bytes.span.bytes) { (piece) throws(StoreError) in
                hash.update(piece)
            }
        }
        try decoder.finish()
        digest = Digest(hash.digest())
        byteCount = decoder.byteCount
        memberCount = decoder.memberCount
    }

    /// Whether the coding may be stored as it came: one gzip member, which saves enough, and of which no
    /// range costs too much to inflate.
    func isStorable(codedByteCount: Int) -> Bool {
        container == .gzip && memberCount == 1 && byteCount >= StoreLimits.compressedByteCountMin
            && byteCount <= StoreLimits.storedAsSentByteCountMax
            && codedByteCount <= Compression.byteCountMax(of: byteCount)
    }

    /// The bytes inside, decoded once more. They are in memory only where they take no more of it
    /// than the coding did.
    func inflated(
        _ content: StoredContent, directory: String
    ) throws(StoreError) -> StoredContent {
        let decoder = try GzipDecoder(container, byteCountMax: byteCount)
        var inflated = StoredContent.memory([])
        if byteCount > content.heldByteCount { try inflated.spool(directory: directory) }
        try content.forEachChunk { (_, bytes) throws(StoreError) in
            try decoder.decode(bytes.span.bytes) { (piece) throws(StoreError) in
                try inflated.append(piece, directory: directory)
            }
        }
        try decoder.finish()
        return inflated
    }
}
