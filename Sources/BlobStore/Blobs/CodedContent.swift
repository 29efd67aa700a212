internal import Hashing

/// What is inside a gzip or deflate coding that was handed in.
struct CodedContent {
    private let container: GzipDecoder.Container
    let digest: Digest
    let byteCount: Int
    let memberCount: Int

    /// Decodes `content` once and keeps nothing of it: bounded memory, whatever is inside. It ends as soon as
    /// more comes out than `byteCountMax`. Throws ``StoreError/invalid(_:)`` for what is no such coding, or has
    /// more inside.
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
