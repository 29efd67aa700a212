/// A payload that is ready to be published, any number of times: its digest, and its bytes as they
/// will be stored, in memory or in an unlinked file.
public final class PreparedPayload: Sendable {
    /// The SHA-256 of the bytes as given.
    public let digest: Digest
    /// Bytes as given.
    public let byteCount: Int
    /// How they will be stored, unless the store has the blob already.
    public let coding: Coding
    /// The media type it was prepared for.
    public let mediaType: String
    /// Bytes as they will be stored.
    public var storedByteCount: Int { content.byteCount }

    let content: StoredContent
    /// Of each chunk's bytes, without its key; empty where the writer computes them with the keys.
    let checksums: [Checksum]

    init(
        digest: Digest, byteCount: Int, coding: Coding, mediaType: String, content: StoredContent,
        checksums: [Checksum]
    ) {
        self.digest = digest
        self.byteCount = byteCount
        self.coding = coding
        self.mediaType = mediaType
        self.content = content
        self.checksums = checksums
    }

    var chunkCount: Int { ChunkLayout.count(of: storedByteCount) }

    static func checksums(of content: StoredContent) throws(StoreError) -> [Checksum] {
        content.byteCount <= readAgainByteCountMax ? [] : try content.chunkChecksums()
    }

    /// Up to how many bytes reading them again takes less than putting two checksums together.
    static let readAgainByteCountMax = 2_048
}
