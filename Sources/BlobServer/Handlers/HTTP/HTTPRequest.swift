import BlobProtocol
import Bytes
import Notifications

/// An HTTP request from its head to its log line: the context that answering it needs.
struct HTTPRequest: ~Escapable {
    var head = HTTPRequestHead()
    /// What the head's slices are of.
    let bytes: RawSpan
    /// How it is answered, which its head decides.
    var form = HTTPForm(keepAlive: false, isHTTP10: false, isHead: false)
    /// Whether it came by the device socket.
    let isDevice: Bool
    let userID: UInt32
    /// Whether it has waited for the writer, or for another thread.
    let wait: Session.Wait

    @inline(__always)
    @_lifetime(copy bytes)
    init(_ bytes: RawSpan, of connection: Session, _ wait: Session.Wait) {
        self.bytes = bytes
        isDevice = connection.isDevice
        userID = connection.userID
        self.wait = wait
    }

    var path: RawSpan {
        @inline(__always)
        @_lifetime(copy self)
        get { head.path.of(bytes) }
    }

    var framing: Upload.Framing {
        head.isChunked ? .chunked(ChunkedDecoder()) : .counted(head.contentLength ?? 0)
    }
}

extension HTTPForm {
    /// How a request is answered; one that may be the last, if its body is too long to be thrown
    /// away.
    @inline(__always)
    init(_ head: HTTPRequestHead, isStopping: Bool) {
        let storesBody = head.method == .put || head.method == .post || head.method == .patch
        self.init(
            keepAlive: head.keepAlive && !isStopping
                && (storesBody || head.skippedBodyByteCount != nil),
            isHTTP10: head.minorVersion == 0, isHead: head.method == .head)
    }

    @inline(__always)
    func step(after head: HTTPRequestHead) -> RequestHandler.Step {
        guard keepAlive, let count = head.skippedBodyByteCount else { return .answeredThenClose }
        return count == 0 ? .answered : .answeredThenSkip(count)
    }
}

extension HTTPRequestHead {
    /// A body that comes with a refused request is skipped up to this size, in bytes; otherwise the connection is
    /// closed.
    private static let skippedBodyByteCountMax: UInt64 = 64 << 10

    /// How many bytes of body to throw away after an answer that did not need it; nil: the connection ends, after a
    /// long or chunked one, and where the client waits for our word before it sends it.
    var skippedBodyByteCount: UInt64? {
        @inline(__always)
        get {
            guard hasBody else { return 0 }
            guard !isChunked, !expectsContinue, let count = contentLength,
                count <= Self.skippedBodyByteCountMax
            else { return nil }
            return count
        }
    }
}

extension LoggedRequest {
    /// An HTTP request. The query of a signed link is left out (``LinkRedaction``).
    init(_ request: HTTPRequest) {
        let (head, bytes) = (request.head, request.bytes)
        let target = head.target.of(bytes)
        let visible = LinkRedaction.visibleByteCount(of: target, isDevice: request.isDevice)
        self.init(
            method: head.method.name,
            target: Self.text(target.extracting(first: visible)),
            version: head.minorVersion == 0 ? "HTTP/1.0" : "HTTP/1.1",
            isDevice: request.isDevice, userID: request.userID)
        if let agent = try? head.value(of: "user-agent", in: bytes) {
            userAgent = Self.text(agent.of(bytes))
        }
    }
}

extension PayloadKey {
    /// A part's name in a path, in which the name of the part may be missing; both are checked. Where one is
    /// percent-encoded, `names` is filled with both, and the slices are of it.
    @inline(__always)
    init(
        _ id: Slice, part: Slice, in path: RawSpan, decoding names: inout [UInt8]
    ) throws(ProtocolError) {
        guard PercentCoding.isPlain(id.of(path)),
            part.isEmpty || PercentCoding.isPlain(part.of(path))
        else {
            try PercentCoding.decode(id.of(path), orThrow: .badID, into: &names)
            let idEnd = names.count
            try TextKind.checkID(names.span.bytes)
            try PercentCoding.decode(part.of(path), orThrow: .badPart, into: &names)
            let part = names.span.bytes.extracting(droppingFirst: idEnd)
            if part.byteCount > 0 { try TextKind.part.check(part) }
            self = .part(
                id: Slice(offset: 0, count: idEnd),
                part: Slice(offset: idEnd, count: part.byteCount))
            return
        }
        try TextKind.checkID(id.of(path))
        if !part.isEmpty { try TextKind.part.check(part.of(path)) }
        self = .part(id: id, part: part)
    }
}
