/// Takes in the bytes of a document that is read as a whole in the end, as ``PayloadWriter`` does for a payload. It
/// limits what comes out of a coding; the caller limits what is appended.
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

    /// See ``PayloadWriter/spool()``.
    public mutating func spool() throws(StoreError) { try content.spool(directory: directory) }

    /// Takes in some more bytes. After an error the writer is of no further use.
    public mutating func append(_ bytes: RawSpan) throws(StoreError) {
        try content.append(bytes, directory: directory)
    }

    /// All bytes, in memory, decoded. Throws ``StoreError/invalid(_:)`` for a coding that is damaged or cut short,
    /// and as soon as more comes out than may.
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
        let decoder = try GzipDecoder(container, byteCountMax: byteCountMax, of: .document)
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
