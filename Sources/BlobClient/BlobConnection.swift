import BlobProtocol

/// One connection to a daemon, speaking the binary protocol. Calls block, and wait at most
/// `Options.timeoutMilliseconds` for the next byte. For `async` programs use `BlobdClient`.
///
/// A connection has one owner and is closed when that owner is destroyed. `put`, `get`, `call` and others send a
/// request and wait for its answer. To pipeline, queue several requests (`queueGet`, …), send them together (`flush`)
/// and receive the answers in the same order (`receive`).
public struct BlobConnection: ~Copyable, Sendable {
    /// The options of a connection.
    public struct Options: Sendable, Hashable {
        /// The longest wait for the daemon to send or accept anything, in milliseconds; 0: no limit.
        public var timeoutMilliseconds = 30_000
        /// Whether to verify the digest of every payload that is fetched whole, which takes about as long as fetching
        /// it.
        public var checksDigests = true
        /// The longest payload that is returned in memory, in bytes.
        public var payloadByteCountMax: UInt64 = 1 << 30

        /// Creates the default options.
        public init() {}
    }

    /// The longest JSON document that is accepted, in bytes.
    public static let documentByteCountMax = 64 << 20

    /// What the daemon says about itself.
    public private(set) var daemon: DaemonInfo
    /// Why the connection can no longer be used; nil while it can.
    public internal(set) var failure: ClientError?

    /// Whether changes are acknowledged only once they are in the bucket of the daemon's shard. A daemon that is not
    /// replicated refuses them.
    public var awaitsReplication = false

    private(set) var options: Options
    var socket: UnixSocket
    var input = InputBuffer()
    var output: [UInt8] = []
    var unanswered: [UnansweredRequest] = []
    private var nextRequestID: UInt32 = 1

    /// Connects to the daemon at `path` and says hello. Throws `noDaemon` if nothing accepts connections there, and
    /// `refused` if the daemon supports no version of this module.
    public static func connect(
        to path: String, options: Options = Options()
    ) throws(ClientError) -> BlobConnection {
        try connect(to: path, options: options, stop: nil)
    }

    /// - Parameter stop: lets another thread end every wait.
    static func connect(
        to path: String, options: Options, stop: SocketStop?
    ) throws(ClientError) -> BlobConnection {
        let socket = try UnixSocket.connect(
            to: path, timeoutMilliseconds: options.timeoutMilliseconds, stop: stop)
        return try BlobConnection(greetingOn: socket, options)
    }

    package static func adopt(
        _ descriptor: CInt, options: Options = Options(), stop: SocketStop? = nil
    ) throws(ClientError) -> BlobConnection {
        let socket = UnixSocket(
            adopting: descriptor, timeoutMilliseconds: options.timeoutMilliseconds, stop: stop)
        return try BlobConnection(greetingOn: socket, options)
    }

    private init(
        greetingOn socket: consuming UnixSocket, _ options: Options
    ) throws(ClientError) {
        self.socket = socket
        self.options = options
        self.daemon = DaemonInfo()
        try sayHello()
    }

    /// Whether the daemon has closed the connection, as it does with idle ones. Only meaningful while no request is
    /// unanswered. Costs one system call.
    public var isFinished: Bool {
        failure != nil || input.isAtEnd || socket.isFinished()
    }

    package mutating func setTimeout(milliseconds: Int) {
        options.timeoutMilliseconds = milliseconds
        socket.setTimeout(milliseconds: milliseconds)
    }

    /// The number of requests that are queued or sent and not yet answered.
    public var unansweredCount: Int { unanswered.count }

    private mutating func sayHello() throws(ClientError) {
        let requestID = try queue(.hello) { (out) throws(ProtocolError) in
            Hello.Request().compose(into: &out)
        }
        try flush()
        let (header, _) = try receiveHeader()
        guard header.requestID == requestID || header.status >= 400 else {
            throw .protocolViolation("the first answer is not to hello")
        }
        if header.status >= 400 { throw try receiveProblem(header) }
        let head = try receiveHead(header)
        let response = try parsed(head, Hello.Response.parse)
        guard response.version == Wire.version else {
            throw .protocolViolation("the daemon chose version \(response.version)")
        }
        daemon = DaemonInfo(response, head: head.span.bytes)
        unanswered.removeFirst()
    }

    // MARK: Sending

    mutating func queue(
        _ operation: Opcode, flags: RequestFlags = [], bodyByteCount: UInt64 = 0,
        head: (inout [UInt8]) throws(ProtocolError) -> Void = { (_) throws(ProtocolError) in }
    ) throws(ClientError) -> UInt32 {
        if let failure { throw failure }
        guard unanswered.count < daemon.requestsInFlightMax else {
            throw ClientError.tooManyUnanswered(limit: daemon.requestsInFlightMax)
        }
        let requestID = nextRequestID
        var flags = flags
        if awaitsReplication, operation.knownFlags.contains(.replicated) {
            flags.insert(.replicated)
        }
        do throws(ProtocolError) {
            try RequestFrame.compose(
                operation, flags: flags, requestID: requestID, bodyByteCount: bodyByteCount,
                into: &output, head: head)
        } catch {
            throw ClientError.invalid(error)
        }
        nextRequestID &+= 1
        unanswered.append(UnansweredRequest(id: requestID, operation: operation, flags: flags))
        return requestID
    }

    mutating func queueBody(_ bytes: RawSpan) {
        bytes.withUnsafeBytes { output.append(contentsOf: $0) }
    }

    /// Sends everything that is queued. Answers that arrive meanwhile are kept, so that the two sides do not wait for
    /// each other; above 8 MiB of them, the wait ends with `timeout`.
    public mutating func flush() throws(ClientError) {
        if let failure { throw failure }
        // Moved out, since sending changes other parts of the connection; moved back to reuse its memory.
        var bytes: [UInt8] = []
        swap(&bytes, &output)
        try send(bytes.span.bytes)
        bytes.removeAll(keepingCapacity: true)
        swap(&bytes, &output)
    }

    /// Sends as much of the queue as the socket accepts at once, but never the last byte, which waits for `flush`. Then
    /// the daemon has all but that byte of the last request, and need not read it first.
    package mutating func sendAhead() throws(ClientError) {
        if let failure { throw failure }
        guard output.count > 1 else { return }
        do throws(ClientError) {
            // If the daemon has closed its end, `flush` and `receive` notice.
            let sent = try socket.sendWithoutWaiting(
                output.span.bytes.extracting(0..<output.count - 1))
            output.removeFirst(sent ?? 0)
        } catch {
            throw fail(error)
        }
    }

    /// Sends bytes. If the daemon has already closed its end, nothing is thrown: what it sent before, most likely the
    /// reason, can still be received.
    mutating func send(_ bytes: RawSpan) throws(ClientError) {
        var offset = 0
        do throws(ClientError) {
            while offset < bytes.byteCount {
                let rest = bytes.extracting(offset..<bytes.byteCount)
                guard let sent = try socket.sendWithoutWaiting(rest) else { return }
                offset += sent
                guard sent == 0 else { continue }
                let canReceive = try socket.wait(receiving: !input.isFull && !input.isAtEnd)
                if canReceive { try input.fill(from: socket) }
            }
        } catch {
            throw fail(error)
        }
    }
}
