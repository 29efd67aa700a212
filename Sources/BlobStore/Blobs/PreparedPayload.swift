internal import Glibc

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

    init(
        digest: Digest, byteCount: Int, coding: Coding, mediaType: String, content: StoredContent
    ) {
        self.digest = digest
        self.byteCount = byteCount
        self.coding = coding
        self.mediaType = mediaType
        self.content = content
    }

    var chunkCount: Int { ChunkLayout.count(of: storedByteCount) }
}

/// Bytes on their way into the store: in memory while they are few, in an unlinked file when they
/// are many.
enum StoredContent: Sendable {
    case memory([UInt8])
    case file(SpoolFile)

    var byteCount: Int {
        switch self {
        case .memory(let bytes): bytes.count
        case .file(let file): file.byteCount
        }
    }

    var heldByteCount: Int {
        switch self {
        case .memory(let bytes): bytes.count
        case .file: 0
        }
    }

    var isSpooled: Bool {
        if case .file = self { return true }
        return false
    }

    mutating func reserveCapacity(_ byteCount: Int) {
        guard case .memory(var held) = self else { return }
        // Taken out of self, so that making room does not copy what is there.
        self = .memory([])
        held.reserveCapacity(byteCount)
        self = .memory(held)
    }

    /// Moves to a file in `directory` now, however few the bytes are.
    mutating func spool(directory: String) throws(StoreError) {
        guard case .memory(let held) = self else { return }
        var file = try SpoolFile(directory: directory)
        try file.append(held.span.bytes)
        self = .file(file)
    }

    /// Appends; moves to a file in `directory` when memory's share is used up.
    mutating func append(_ bytes: RawSpan, directory: String) throws(StoreError) {
        switch self {
        case .memory(var held):
            // Taken out of self, so that appending does not copy what is there.
            self = .memory([])
            if bytes.byteCount <= StoreLimits.payloadInMemoryByteCountMax - held.count {
                bytes.withUnsafeBytes { held.append(contentsOf: $0) }
                self = .memory(held)
                return
            }
            var file = try SpoolFile(directory: directory)
            try file.append(held.span.bytes)
            try file.append(bytes)
            self = .file(file)
        case .file(var file):
            try file.append(bytes)
            self = .file(file)
        }
    }

    mutating func replace(at offset: Int, with bytes: RawSpan) throws(StoreError) {
        precondition(offset >= 0 && bytes.byteCount <= byteCount - offset)
        switch self {
        case .memory(var held):
            self = .memory([])
            held.withUnsafeMutableBytes { target in
                bytes.withUnsafeBytes {
                    UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyMemory(from: $0)
                }
            }
            self = .memory(held)
        case .file(let file): try file.write(bytes, at: offset)
        }
    }

    /// Calls `body` with the bytes of each chunk, in order, beginning with chunk `first`, at most
    /// `count` times. What is in memory is not copied.
    func forEachChunk(
        from first: Int = 0, count: Int = .max,
        _ body: (Int, ArraySlice<UInt8>) throws(StoreError) -> Void
    ) throws(StoreError) {
        var buffer: [UInt8] = []
        var start = ChunkLayout.start(of: first, in: byteCount)
        var index = first
        while start < byteCount, index - first < count {
            let length = ChunkLayout.byteCount(at: index, of: byteCount)
            switch self {
            case .memory(let bytes):
                try body(index, bytes[start..<start + length])
            case .file(let file):
                try file.read(at: start, count: length, into: &buffer)
                try body(index, buffer[...])
            }
            start += length
            index += 1
        }
    }
}

/// A file without a name, gone when the last who knows it lets go (`O_TMPFILE`).
struct SpoolFile: Sendable {
    private let owner: Owner
    private(set) var byteCount = 0

    private final class Owner: Sendable {
        let descriptor: Int32
        init(_ descriptor: Int32) { self.descriptor = descriptor }
        deinit { close(descriptor) }
    }

    init(directory: String) throws(StoreError) {
        // __O_TMPFILE | O_DIRECTORY: a macro of macros that Swift does not import.
        let temporary: Int32 = 0o20000000 | O_DIRECTORY
        var descriptor = open(directory, O_RDWR | temporary | O_CLOEXEC, 0o600)
        if descriptor < 0, errno == EOPNOTSUPP || errno == EISDIR {
            descriptor = Self.openUnlinked(directory)
        }
        guard descriptor >= 0 else { throw .system("open a temporary file in \(directory)") }
        owner = Owner(descriptor)
    }

    /// For file systems that do not know `O_TMPFILE`.
    private static func openUnlinked(_ directory: String) -> Int32 {
        var path = Array("\(directory)/spool.XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        if descriptor >= 0 {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            unlink(path)
        }
        return descriptor
    }

    mutating func append(_ bytes: RawSpan) throws(StoreError) {
        try write(bytes, at: byteCount)
        byteCount += bytes.byteCount
    }

    func write(_ bytes: RawSpan, at start: Int) throws(StoreError) {
        guard FileBytes.write(bytes, at: start, to: owner.descriptor) else {
            throw .system("write to a temporary file")
        }
    }

    /// Replaces `buffer` by `count` bytes from `offset`, which are there.
    func read(at offset: Int, count: Int, into buffer: inout [UInt8]) throws(StoreError) {
        if buffer.count != count { buffer = [UInt8](repeating: 0, count: count) }
        guard FileBytes.read(owner.descriptor, at: offset, into: &buffer) == count else {
            throw .system("read a temporary file")
        }
    }
}
