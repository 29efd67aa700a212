import BlobProtocol

/// An HTTP request from its head to its answer, lent to all that have a part in it.
struct HTTPRequest: ~Escapable {
    var head = HTTPRequestHead()
    /// What the head's slices are of.
    let bytes: RawSpan
    /// How it is answered, which its head decides.
    var form = HTTPForm(keepAlive: false, isHTTP10: false, isHead: false)
    /// Whether it came by the device socket.
    let isDevice: Bool
    /// The user at the other end.
    let userID: UInt32

    /// A request whose head is still to be read.
    @inline(__always)
    @_lifetime(copy bytes)
    init(_ bytes: RawSpan, of connection: Session) {
        self.bytes = bytes
        isDevice = connection.isDevice
        userID = connection.userID
    }

    var path: RawSpan {
        @inline(__always)
        @_lifetime(copy self)
        get { head.path.of(bytes) }
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

    /// What comes behind an answer that did not need the body.
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

    /// How many bytes of body to throw away after an answer that did not need it; nil when the
    /// connection rather ends: for a long or chunked one, and when the client waits for our word
    /// before it sends it.
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
