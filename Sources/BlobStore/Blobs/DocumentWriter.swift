/// Takes in the bytes of a document that is read as a whole in the end, in bounded memory, as
/// ``PayloadWriter`` does for a payload: a long one waits for its last byte in an unlinked file.
///
/// It does not limit what is appended, which the caller does, but what comes out of a coding.
public struct DocumentWriter: ~Copyable, Sendable {
    private let directory: String
    private let coding: BodyCoding
    private let byteCountMax: Int
    private var content = StoredContent.memory([])

    init(directory: String, coding: BodyCoding, byteCountMax: Int) {
        self.directory = directory
        self.coding = coding
        self.byteCountMax = byteCountMax
    }

    /// How many bytes were appended.
    public var byteCount: Int { content.byteCount }

    /// How many of them are in memory: all or, once there is a file, none.
    public var heldByteCount: Int { content.heldByteCount }

    /// Whether they go to a file.
    public var isSpooled: Bool { content.isSpooled }

    /// Makes room in memory for `byteCount` bytes in all. Nothing happens once there is a file.
    public mutating func reserveCapacity(_ byteCount: Int) { content.reserveCapacity(byteCount) }

    /// Moves the bytes that are in memory to a file, where further ones go too, and gives their
    /// memory back. Nothing happens when there is a file already.
    ///
    /// - Throws: ``StoreError/full`` when the disk has no room. The writer is of no further use then.
    public mutating func spool() throws(StoreError) { try content.spool(directory: directory) }

    /// Takes in some more bytes.
    ///
    /// - Throws: ``StoreError/full`` when the disk has no room. The writer is of no further use then.
    public mutating func append(_ bytes: RawSpan) throws(StoreError) {
        try content.append(bytes, directory: directory)
    }

    /// All bytes, in memory, decoded. Those of a file are read; others are handed out without a copy
    /// unless they are coded.
    ///
    /// - Throws: ``StoreError/invalid(_:)`` for a coding that is damaged, cut short or followed by
    ///   something else, and as soon as more comes out than may.
    public consuming func finish() throws(StoreError) -> [UInt8] {
        if let container = coding.container {
            return try Self.decoded(content, container, byteCountMax: byteCountMax)
        }
        switch content {
        case .memory(let bytes): return bytes
        case .file(let file):
            var bytes: [UInt8] = []
            try file.read(at: 0, count: file.byteCount, into: &bytes)
            return bytes
        }
    }

    private static func decoded(
        _ content: StoredContent, _ container: GzipDecoder.Container, byteCountMax: Int
    ) throws(StoreError) -> [UInt8] {
        let decoder = try GzipDecoder(container, byteCountMax: byteCountMax)
        var bytes: [UInt8] = []
        try content.forEachChunk { (_, chunk) throws(StoreError) in
            try decoder.decode(chunk.span.bytes) { (piece) throws(StoreError) in
                piece.withUnsafeBytes { bytes.append(contentsOf: $0) }
            }
        }
        try decoder.finish()
        return bytes
    }
}
