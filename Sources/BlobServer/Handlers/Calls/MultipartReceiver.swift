import BlobProtocol
import BlobStore
import Bytes
import Notifications

/// Receives a multipart body: the document into memory, each file into a writer.
struct MultipartReceiver: Sendable {
    private static let documentName: StaticString = "notification"

    private let store: BlobStore
    private var parser: MultipartParser
    /// Bytes that the parser needs again, with more after them.
    private var rest: [UInt8] = []
    private(set) var document: [UInt8]?
    private var isInDocument = false
    private var isInFile = false
    /// The first field without a file's name that is called like a member of the document. Unless the document names it
    /// as a part, it is a mistake for that member.
    private(set) var fieldLikeMember: PartName?

    init(_ store: BlobStore, boundary: [UInt8]) {
        self.store = store
        parser = MultipartParser(boundary: boundary)
    }

    var heldByteCount: Int { rest.count + (document?.count ?? 0) }

    /// Throws `bad_multipart` if the end is missing.
    func checkEnd() throws(ProtocolError) {
        try require(parser.isComplete, .badMultipart, "the body ends without a closing delimiter")
    }

    mutating func append(
        _ bytes: RawSpan, to files: inout [IncomingBytes]
    ) throws(BodyFailure) {
        guard !rest.isEmpty else {
            let used = try take(bytes, &files)
            rest.append(contentsOf: bytes.extracting(droppingFirst: used))
            return
        }
        rest.append(contentsOf: bytes)
        let held = rest
        let used = try take(held.span.bytes, &files)
        rest = Array(held[used...])
    }

    private mutating func take(
        _ bytes: RawSpan, _ files: inout [IncomingBytes]
    ) throws(BodyFailure) -> Int {
        var used = 0
        while used < bytes.byteCount {
            let rest = bytes.extracting(droppingFirst: used)
            let next = try onWire(try parser.next(rest))
            used += next.consumed
            switch next.step {
            case .needsMore: return used
            case .part(let head): try onWire(try begin(head, &files))
            case .end: break
            case .bytes(let slice): try append(content: slice.of(rest), to: files.last)
            case .partEnd: try onWire(try endField(files.last))
            }
        }
        return used
    }

    private mutating func begin(
        _ head: MultipartHead, _ files: inout [IncomingBytes]
    ) throws(ProtocolError) {
        let name = head.name.span.bytes
        if name.equals(Self.documentName) {
            guard document == nil else { throw Self.twice(name) }
            document = []
            isInDocument = true
            return
        }
        let part = try PartName(onWire: name)
        isInFile = head.isFile
        if !isInFile, fieldLikeMember == nil, NotificationDocument.isMember(name) {
            fieldLikeMember = part
        }
        guard !files.contains(where: { $0.name == part }) else { throw Self.twice(name) }
        try require(
            files.count < StoreLimits.partCountMax, .tooManyParts,
            "too many files; the limit is \(StoreLimits.partCountMax)",
            limit: StoreLimits.partCountMax)
        files.append(
            IncomingBytes(name: part, mediaType: head.type, store.makePayloadWriter()))
    }

    /// A browser sends such a field for a file that was not chosen, and a script for a variable that is not set.
    private mutating func endField(_ file: IncomingBytes?) throws(ProtocolError) {
        defer { isInDocument = false }
        guard !isInDocument, !isInFile, let file, file.counts.all == 0 else { return }
        throw ProtocolError(
            .badMultipart, "the field \(file.name.excerpt) has neither bytes nor a file name")
    }

    private static func twice(_ name: RawSpan) -> ProtocolError {
        ProtocolError(.badMultipart, "duplicate field \(name.excerpt())")
    }

    private mutating func append(
        content bytes: RawSpan, to file: IncomingBytes?
    ) throws(BodyFailure) {
        guard isInDocument else {
            _ = try onStore(try file?.append(bytes))
            return
        }
        let limit = WireLimits.documentByteCountMax
        guard bytes.byteCount <= limit - (document?.count ?? 0) else {
            throw .wire(
                ProtocolError(
                    .payloadTooLarge, "the document is over the limit of \(limit) bytes",
                    limit: limit))
        }
        document?.append(contentsOf: bytes)
    }
}
