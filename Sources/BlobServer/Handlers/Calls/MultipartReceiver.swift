import BlobProtocol
import BlobStore
import Bytes
import Notifications
import Synchronization

/// Takes in a multipart body as it comes: the document into memory, each file into a writer of its
/// own.
final class MultipartReceiver {
    private static let documentName: StaticString = "notification"

    private let store: BlobStore
    private var parser: MultipartParser
    /// What the parser wants to see again, with more after it.
    private var rest: [UInt8] = []
    private var document: [UInt8]?
    private var files: [IncomingFile] = []
    private var isInDocument = false

    struct Received: Sendable {
        var document: [UInt8]?
        var files: [IncomingFile]
    }

    init(_ store: BlobStore, boundary: [UInt8]) {
        self.store = store
        parser = MultipartParser(boundary: boundary)
    }

    func append(_ bytes: RawSpan) throws(BodyFailure) {
        guard !rest.isEmpty else {
            let used = try take(bytes)
            rest.append(contentsOf: bytes.extracting(droppingFirst: used))
            return
        }
        rest.append(contentsOf: bytes)
        let held = rest
        let used = try take(held.span.bytes)
        rest.removeAll(keepingCapacity: true)
        rest.append(contentsOf: held[used...])
    }

    var heldByteCount: Int {
        rest.count + (document?.count ?? 0) + files.reduce(0) { $0 + $1.heldByteCount }
    }

    /// How many files are on the disk, and what they may hold in memory when they are finished.
    var spooled: (count: Int, byteCountMax: Int) {
        files.reduce(into: (0, 0)) { sum, file in
            guard file.isSpooled else { return }
            sum.0 += 1
            sum.1 += min(file.byteCount, StoreLimits.payloadInMemoryByteCountMax)
        }
    }

    /// Whether a file that is in memory would get longer than it may be there, should all of
    /// `byteCount` more bytes be its.
    func mustSpool(before byteCount: Int) -> Bool {
        guard let file = files.last, !file.isSpooled else { return false }
        return file.heldByteCount + byteCount > StoreLimits.payloadInMemoryByteCountMax
    }

    /// Whether there is a file in memory that is worth a place on the disk.
    var canSpool: Bool { files.contains { $0.heldByteCount > 0 } }

    func spool() throws(StoreError) {
        try files.max { $0.heldByteCount < $1.heldByteCount }?.spool()
    }

    /// Hands out what was received. Throws `bad_multipart` when the end is missing.
    func finish() throws(ProtocolError) -> Received {
        try require(parser.isComplete, .badMultipart, "the body ends without a closing delimiter")
        return Received(document: document, files: files)
    }

    private func take(_ bytes: RawSpan) throws(BodyFailure) -> Int {
        var used = 0
        while used < bytes.byteCount {
            let rest = bytes.extracting(droppingFirst: used)
            let next = try onWire(try parser.next(rest))
            used += next.consumed
            switch next.step {
            case .needsMore: return used
            case .part(let head): try onWire(try begin(head))
            case .end: break
            case .bytes(let slice): try append(content: slice.of(rest))
            case .partEnd: isInDocument = false
            }
        }
        return used
    }

    private func begin(_ head: MultipartHead) throws(ProtocolError) {
        let name = head.name.span.bytes
        if name.equals(Self.documentName) {
            guard document == nil else { throw Self.twice(name) }
            document = []
            isInDocument = true
            return
        }
        let part = try PartName(onWire: name)
        guard !files.contains(where: { $0.name == part }) else {
            throw Self.twice(name)
        }
        try require(
            files.count < StoreLimits.partCountMax, .tooManyParts,
            "too many files; the limit is \(StoreLimits.partCountMax)",
            limit: StoreLimits.partCountMax)
        files.append(
            IncomingFile(name: part, mediaType: head.type, store.makePayloadWriter()))
    }

    private static func twice(_ name: RawSpan) -> ProtocolError {
        ProtocolError(.badMultipart, "duplicate field \(name.excerpt())")
    }

    private func append(content bytes: RawSpan) throws(BodyFailure) {
        if isInDocument {
            let limit = WireLimits.documentByteCountMax
            guard bytes.byteCount <= limit - (document?.count ?? 0) else {
                throw .wire(
                    ProtocolError(
                        .payloadTooLarge, "the document is over the limit of \(limit) bytes",
                        limit: limit))
            }
            document?.append(contentsOf: bytes)
        } else if let file = files.last {
            try onStore(try file.append(bytes))
        }
    }
}

/// A document that is to be read on another thread than its connection's.
final class IncomingDocument: Sendable {
    private let writer: Mutex<DocumentWriter?>

    init(_ writer: consuming sending DocumentWriter) {
        self.writer = Mutex(writer)
    }

    /// Its bytes; nil when it was finished before.
    func finish() throws(StoreError) -> [UInt8]? {
        guard let writer = writer.withLock({ $0.take() }) else { return nil }
        return try writer.finish()
    }
}

final class IncomingFile: Sendable {
    let name: PartName
    let mediaType: MediaType?
    /// Used by one thread after the other, never by two at a time.
    private let writer: Mutex<PayloadWriter?>

    init(name: PartName, mediaType: MediaType?, _ writer: consuming sending PayloadWriter) {
        self.name = name
        self.mediaType = mediaType
        self.writer = Mutex(writer)
    }

    private var counts: (held: Int, all: Int) {
        writer.withLock { writer in
            switch writer {
            case .some(let writer): (writer.heldByteCount, writer.byteCount)
            case .none: (0, 0)
            }
        }
    }
    fileprivate var heldByteCount: Int { counts.held }
    /// Bytes that have come; 0 when it is finished.
    var byteCount: Int { counts.all }
    fileprivate var isSpooled: Bool {
        writer.withLock { writer in
            switch writer {
            case .some(let writer): writer.isSpooled
            case .none: false
            }
        }
    }

    fileprivate func spool() throws(StoreError) {
        try writer.withLock { (writer) throws(StoreError) in try writer?.spool() }
    }

    fileprivate func append(_ bytes: RawSpan) throws(StoreError) {
        try writer.withLock { (writer) throws(StoreError) in try writer?.append(bytes) }
    }

    /// The file, hashed and compressed where that helps; nil when it was finished before.
    func finish(as mediaType: MediaType) throws(StoreError) -> PreparedPayload? {
        guard let writer = writer.withLock({ $0.take() }) else { return nil }
        return try writer.finish(as: mediaType)
    }
}
