public import BlobProtocol
import Dispatch

/// A client for `async` programs: a `BlobConnection` that does not block Swift's threads.
///
/// ```swift
/// let client = BlobdClient(socketPath: "/run/blobd/blobd.sock")
/// let receipt = try await client.put(
///     PutRequest(id: "42", mediaType: "image/png", lifetime: .seconds(86_400)), bytes)
/// let payload = try await client.get("42")
/// let record = try await client.call(.patch("42", PatchRequest(isRead: true), device: "phone"))
/// ```
///
/// The actor runs on its own serial queue, where the blocking happens. It has one connection, which it makes when it
/// first needs one and again after the daemon has closed it. Calls run one after another; for concurrent calls create
/// several clients. Cancelling a task ends its call, with `cancelled`, and the connection; one that waits for
/// another call ends after that.
public actor BlobdClient {
    /// Where the actor's calls run.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    private nonisolated let executor = QueueExecutor()
    private nonisolated let socketPath: String
    private nonisolated let options: BlobConnection.Options
    private nonisolated let connect: @Sendable (SocketStop) throws(ClientError) -> BlobConnection
    private var connection: BlobConnection?
    /// Ends the waits of the connection, and of those that replace it.
    private var stop = SocketStop()

    /// Creates a client of the daemon at `socketPath`. It connects at the first call.
    public init(socketPath: String, options: BlobConnection.Options = .init()) {
        self.init(socketPath: socketPath, options: options) { (stop) throws(ClientError) in
            try BlobConnection.connect(to: socketPath, options: options, stop: stop)
        }
    }

    init(
        socketPath: String, options: BlobConnection.Options = .init(),
        connect: @escaping @Sendable (SocketStop) throws(ClientError) -> BlobConnection
    ) {
        self.socketPath = socketPath
        self.options = options
        self.connect = connect
    }

    /// What the daemon says about itself: its version and its limits.
    public func daemon() async throws(ClientError) -> DaemonInfo {
        try await with { (connection) throws(ClientError) in connection.daemon }
    }

    /// Asks whether the store can commit. Throws `refused` if it cannot.
    public func ping() async throws(ClientError) {
        try await with { (connection) throws(ClientError) in try connection.ping() }
    }

    /// Stores bytes for a notification. They are on the daemon's disk when this returns.
    @discardableResult
    public func put(_ request: PutRequest, _ bytes: [UInt8]) async throws(ClientError) -> PutReceipt
    {
        try await with { (connection) throws(ClientError) in
            try connection.put(request, bytes.span.bytes)
        }
    }

    /// Fetches a part (nil: `payload`) or a range of it. Verifies the digest of a whole part. Nil if it does not exist,
    /// or has expired.
    public func get(
        _ id: String, part: String? = nil, range: WireRange? = nil
    ) async throws(ClientError) -> FetchedPayload? {
        try await ifThere { (connection) throws(ClientError) in
            try connection.get(id, part: part, range: range)
        }
    }

    /// Fetches the bytes with this digest, or a range of them. Nil if they do not exist.
    public func getBlob(
        _ digest: PayloadDigest, range: WireRange? = nil
    ) async throws(ClientError) -> FetchedPayload? {
        try await ifThere { (connection) throws(ClientError) in
            try connection.getBlob(digest, range: range)
        }
    }

    /// Makes a call and reads its answer. Throws `notFound` and `expired` if its subject does not exist.
    @discardableResult
    public func call<Answer: Sendable>(
        _ call: DaemonCall<Answer>
    ) async throws(ClientError) -> Answer {
        try await with { (connection) throws(ClientError) in try connection.call(call) }
    }

    /// Makes a call and reads its answer. Nil if its subject does not exist, or has expired.
    @discardableResult
    public func call<Answer: Sendable>(
        ifPresent call: DaemonCall<Answer>
    ) async throws(ClientError) -> Answer? {
        try await ifThere { (connection) throws(ClientError) in try connection.call(call) }
    }

    /// Closes the connection. The next call makes a new one.
    public func close() {
        connection = nil
    }

    /// Every change of an owner's notifications, as it is committed; see ``ChangeStream``. The stream has a separate
    /// connection, so the client's other calls do not wait for it.
    ///
    /// - Parameters:
    ///   - owner: whose changes.
    ///   - since: `0` for all existing notifications, `latest` for future changes only, or the cursor of the last
    ///     change that was applied.
    ///   - filter: notifications that do not match are reported as left, without their records.
    public nonisolated func changes(
        of owner: String, since: String = "0",
        matching filter: NotificationFilter = NotificationFilter()
    ) -> ChangeStream {
        ChangeStream { [socketPath, options] stop in
            FeedSubscription(
                socketPath: socketPath, options: options, owner: owner, since: since,
                limit: ChangeStream.pageLimit, matching: filter, stop: stop)
        }
    }

    private func ifThere<T: Sendable>(
        _ call: (inout BlobConnection) throws(ClientError) -> T
    ) async throws(ClientError) -> T? {
        do throws(ClientError) {
            return try await with(call)
        } catch {
            switch error {
            case .notFound, .expired: return nil
            default: throw error
            }
        }
    }

    /// Makes one call, and ends it when its task is cancelled.
    private func with<T: Sendable>(
        _ call: (inout BlobConnection) throws(ClientError) -> T
    ) async throws(ClientError) -> T {
        if Task.isCancelled { throw .cancelled }
        if stop.isStopped {
            connection = nil
            stop = SocketStop()
        }
        let stop = stop
        let result = await withTaskCancellationHandler {
            Result { () throws(ClientError) in try make(call) }
        } onCancel: {
            stop.stop()
        }
        if case .failure(let error) = result, stop.isStopped, error.endsConnection {
            throw .cancelled
        }
        return try result.get()
    }

    /// Makes one call on the connection, which is replaced first if the daemon has closed it. Never sends anything
    /// twice.
    private func make<T>(
        _ call: (inout BlobConnection) throws(ClientError) -> T
    ) throws(ClientError) -> T {
        var current: BlobConnection
        if let kept = connection.take(), !kept.isFinished {
            current = kept
        } else {
            current = try connect(stop)
        }
        do throws(ClientError) {
            let result = try call(&current)
            connection = consume current
            return result
        } catch {
            if !error.endsConnection { connection = consume current }
            throw error
        }
    }
}

/// Runs an actor on a dispatch queue, whose threads may block.
final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(_ label: String = "blobd.client") {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
