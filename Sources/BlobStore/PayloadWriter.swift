internal import Hashing
package import Notifications
internal import Synchronization

/// Takes in the bytes of a payload, in pieces of any size, in bounded memory: up to
/// ``StoreLimits/payloadInMemoryByteCountMax`` are kept, more go to an unlinked file in the store's folder. Nothing
/// of it is in the store until it is published.
public struct PayloadWriter: ~Copyable, Sendable {
    private let store: BlobStore
    private let coding: BodyCoding
    private var hash = SHA256()
    private var content: StoredContent

    /// How many bytes were appended.
    public var byteCount: Int { content.byteCount }

    init(_ store: BlobStore, expecting byteCount: Int, coding: BodyCoding) {
        self.store = store
        self.coding = coding
        var held: [UInt8] = []
        // What will not stay in memory is not expected there.
        if byteCount <= StoreLimits.payloadInMemoryByteCountMax { held.reserveCapacity(byteCount) }
        content = .memory(held)
    }

    /// Whether ``finish(mediaType:)`` only reads bytes that are in memory: no compression, decoding or file.
    public func finishesAtOnce(mediaType: String) -> Bool {
        guard coding == .identity, case .memory(let bytes) = content else { return false }
        return !Compression.isWorthTrying(mediaType, byteCount: bytes.count)
    }

    /// How many of them are in memory: all or, once there is a file, none.
    public var heldByteCount: Int { content.heldByteCount }

    /// Whether they go to a file.
    public var isSpooled: Bool { content.isSpooled }

    /// Makes room in memory for so many bytes in all. Nothing happens once there is a file.
    public mutating func reserveCapacity(_ byteCount: Int) { content.reserveCapacity(byteCount) }

    /// Moves the bytes that are in memory to a file, where further ones go too. After an error the writer is of no
    /// further use.
    public mutating func spool() throws(StoreError) {
        try content.spool(directory: store.directory)
    }

    /// Takes in some more bytes, hashing them as they come. Coded ones are kept as they are. After an error the
    /// writer is of no further use.
    ///
    /// - Throws: ``StoreError/invalid(_:)`` when the payload gets larger than the store allows;
    ///   ``StoreError/full``.
    public mutating func append(_ bytes: RawSpan) throws(StoreError) {
        var limit = store.core.adjustable.withLock { $0.payloadByteCountMax }
        if coding != .identity { limit = StoreLimits.codedByteCountMax(for: limit) }
        guard bytes.byteCount <= limit - byteCount else {
            throw .invalid(
                InvalidInput(
                    field: .payload,
                    reason: "is over the limit of \(limit) bytes", limit: limit))
        }
        if coding == .identity { hash.update(bytes) }
        let byteCount = byteCount + bytes.byteCount
        do throws(StoreError) {
            try content.append(bytes, directory: store.directory)
        } catch {
            if case .full = error { store.pipeline.space.noteRefused(incomingByteCount: byteCount) }
            throw error
        }
    }

    /// Ends the payload: knows its digest, and compresses it where that helps. Compression is tried for media types
    /// that shrink, unless the store has the blob, and kept where the result is at most 90 %. It may take a second
    /// for tens of megabytes of text. A gzip or deflate coding is decoded in bounded memory; it is stored as it
    /// came when it is gzip of one member, at most 90 % of what is inside, and that is at most 1 MiB.
    ///
    /// - Throws: ``StoreError/invalid(_:)`` for another form of media type, a coding that is damaged or cut short,
    ///   and more bytes inside than the store allows; ``StoreError/full``.
    public consuming func finish(mediaType: String) throws(StoreError) -> PreparedPayload {
        try TextKind.mediaType.check(mediaType)
        return try prepared(mediaType)
    }

    /// Ends it as ``finish(mediaType:)`` does, with a media type that is checked.
    package consuming func finish(as mediaType: MediaType) throws(StoreError) -> PreparedPayload {
        try prepared(mediaType.text)
    }

    private consuming func prepared(_ mediaType: String) throws(StoreError) -> PreparedPayload {
        if let container = coding.container {
            return try .prepare(coded: content, container, mediaType: mediaType, in: store)
        }
        return try .prepare(
            content, digest: Digest(hash.digest()), mediaType: mediaType, in: store)
    }
}

extension PreparedPayload {
    /// Prepares bytes as given: compresses them where that helps.
    static func prepare(
        _ content: StoredContent, digest: Digest, mediaType: String, in store: BlobStore
    ) throws(StoreError) -> PreparedPayload {
        var coding = Coding.identity
        var stored = content
        if Compression.isWorthTrying(mediaType, byteCount: content.byteCount),
            try !store.core.contains(digest),
            let smaller = try Compression.compress(stored, directory: store.directory)
        {
            stored = smaller
            coding = .gzip
        }
        return PreparedPayload(
            digest: digest, byteCount: content.byteCount, coding: coding, mediaType: mediaType,
            content: stored)
    }

    /// Prepares bytes that came in a coding: as they came where they may be stored so.
    static func prepare(
        coded content: StoredContent, _ container: GzipDecoder.Container, mediaType: String,
        in store: BlobStore
    ) throws(StoreError) -> PreparedPayload {
        let byteCountMax = store.core.adjustable.withLock { $0.payloadByteCountMax }
        let inside = try CodedContent(of: content, container, byteCountMax: byteCountMax)
        guard inside.isStorable(codedByteCount: content.byteCount) else {
            let inflated = try inside.inflated(content, directory: store.directory)
            return try prepare(inflated, digest: inside.digest, mediaType: mediaType, in: store)
        }
        return PreparedPayload(
            digest: inside.digest, byteCount: inside.byteCount, coding: .gzip,
            mediaType: mediaType, content: content)
    }
}

extension BlobStore {
    /// A writer for a new payload, which is what is inside of `coding`. Memory for `byteCount` bytes is had at
    /// once.
    public func makePayloadWriter(
        expecting byteCount: Int = 0, coding: BodyCoding = .identity
    ) -> PayloadWriter {
        PayloadWriter(self, expecting: byteCount, coding: coding)
    }

    /// A writer for a document, of at most so many bytes inside of a coding.
    public func makeDocumentWriter(
        coding: BodyCoding = .identity, byteCountMax: Int
    ) -> DocumentWriter {
        DocumentWriter(directory: directory, coding: coding, byteCountMax: byteCountMax)
    }
}
