/// The most bytes that a part may have, beside the store's own limit.
public struct PartLimit: Sendable, Hashable {
    /// Bytes as given.
    public var byteCountMax: Int
    /// Whose limit that is, for who is refused.
    public var name: String

    /// A limit.
    public init(byteCountMax: Int, name: String) {
        self.byteCountMax = byteCountMax
        self.name = name
    }

    /// Throws ``StoreError/attachmentTooLarge(byteCount:part:mediaType:limit:)`` for more.
    func check(byteCount: Int, part: String, mediaType: String) throws(StoreError) {
        guard byteCount > byteCountMax else { return }
        throw .attachmentTooLarge(
            byteCount: byteCount, part: part, mediaType: mediaType, limit: self)
    }
}
