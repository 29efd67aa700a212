import BlobProtocol
import BlobStore
import Notifications
import Synchronization

/// The bytes of one payload, file or document of a body. They are in memory or, once that is short, in a file. Never
/// used by two threads at a time.
final class IncomingBytes: Sendable {
    private struct Writers: ~Copyable, Sendable {
        var payload: PayloadWriter?
        /// For a document.
        var document: DocumentWriter?

        var counts: Counts {
            switch payload {
            case .some(let writer):
                return Counts(
                    all: writer.byteCount, held: writer.heldByteCount, isSpooled: writer.isSpooled)
            case .none: break
            }
            switch document {
            case .some(let writer):
                return Counts(
                    all: writer.byteCount, held: writer.heldByteCount, isSpooled: writer.isSpooled)
            case .none: return Counts(all: 0, held: 0, isSpooled: false)
            }
        }
    }

    struct Counts {
        var all: Int
        var held: Int
        var isSpooled: Bool
    }

    let name: PartName
    let mediaType: MediaType?
    private let writers: Mutex<Writers>

    init(
        name: PartName = .payload, mediaType: MediaType? = nil,
        _ payload: consuming sending PayloadWriter
    ) {
        self.name = name
        self.mediaType = mediaType
        writers = Mutex(Writers(payload: payload))
    }

    init(document: consuming sending DocumentWriter) {
        name = .payload
        mediaType = nil
        writers = Mutex(Writers(document: document))
    }

    var counts: Counts { writers.withLock { $0.counts } }

    func append(_ bytes: RawSpan) throws(StoreError) {
        try writers.withLock { (writers) throws(StoreError) in
            try writers.payload?.append(bytes)
            try writers.document?.append(bytes)
        }
    }

    func reserveCapacity(_ byteCount: Int) {
        writers.withLock {
            $0.payload?.reserveCapacity(byteCount)
            $0.document?.reserveCapacity(byteCount)
        }
    }

    func spool() throws(StoreError) {
        try writers.withLock { (writers) throws(StoreError) in
            try writers.payload?.spool()
            try writers.document?.spool()
        }
    }

    func finishesAtOnce(as mediaType: MediaType) -> Bool {
        writers.withLock { writers in
            switch writers.payload {
            case .some(let writer): writer.finishesAtOnce(mediaType: mediaType.text)
            case .none: false
            }
        }
    }

    /// The payload, hashed and, if that saves space, compressed; nil if it is already finished.
    func finish(as mediaType: MediaType) throws(StoreError) -> PreparedPayload? {
        guard let writer = writers.withLock({ $0.payload.take() }) else { return nil }
        return try writer.finish(as: mediaType)
    }

    /// The document's bytes; nil if it is already finished.
    func finishDocument() throws(StoreError) -> [UInt8]? {
        guard let writer = writers.withLock({ $0.document.take() }) else { return nil }
        return try writer.finish()
    }
}

/// Where the bytes of a body go as they arrive.
struct BodyContent {
    /// A payload, a document, or files in order.
    var items: [IncomingBytes] = []
    var multipart: MultipartReceiver?

    init() {}

    init(_ plan: BodyPlan, in store: BlobStore) {
        switch plan.kind {
        case .payload: items = [IncomingBytes(store.makePayloadWriter(coding: plan.coding))]
        case .multipart(_, let boundary):
            multipart = MultipartReceiver(store, boundary: boundary)
        case .document, .batch:
            let writer = store.makeDocumentWriter(
                coding: plan.coding, byteCountMax: plan.documentByteCountMax)
            items = [IncomingBytes(document: writer)]
        }
    }

    mutating func append(_ bytes: RawSpan) throws(BodyFailure) {
        if multipart != nil {
            try multipart?.append(bytes, to: &items)
        } else {
            _ = try onStore(try items.first?.append(bytes))
        }
    }

    // MARK: - Memory

    var heldByteCount: Int {
        items.reduce(multipart?.heldByteCount ?? 0) { $0 + $1.counts.held }
    }

    var isSpooled: Bool { multipart == nil && items.allSatisfy(\.counts.isSpooled) }

    var spoolCount: Int { items.count { $0.counts.isSpooled } }

    /// Whether bytes in memory, or expected there, are worth a file.
    var canSpool: Bool {
        items.contains { $0.counts.held > 0 || (multipart == nil && !$0.counts.isSpooled) }
    }

    /// Whether `more` bytes would make the current item longer than it may be in memory.
    func mustSpool(before more: Int) -> Bool {
        guard let counts = items.last?.counts, !counts.isSpooled else { return false }
        return counts.all + more > StoreLimits.payloadInMemoryByteCountMax
    }

    /// The memory that spooled items may need: a payload may become short, and a document is read.
    func finishingByteCount(isDocument: Bool) -> Int {
        let most = isDocument ? Int.max : StoreLimits.payloadInMemoryByteCountMax
        return items.reduce(0) { $0 + ($1.counts.isSpooled ? min($1.counts.all, most) : 0) }
    }

    func reserveCapacity(_ byteCount: Int) {
        if multipart == nil { items.first?.reserveCapacity(byteCount) }
    }

    /// Moves the item that holds the most memory to a file.
    func spool() throws(BodyFailure) {
        let counted = items.filter { !$0.counts.isSpooled }
        _ = try onStore(try counted.max { $0.counts.held < $1.counts.held }?.spool())
    }
}
