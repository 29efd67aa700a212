/// Every change of an owner's notifications, as it is committed, including deletions and expiries. Of several unread
/// changes of one notification, only the latest is delivered.
///
/// ```swift
/// for try await change in client.changes(of: "ann", since: cursor) {
///     apply(change)
///     cursor = change.cursor      // keep it with what was applied
/// }
/// ```
///
/// Each loop has a connection and a thread that waits on it. When the daemon restarts, the loop reconnects and
/// continues where it was; if there never was a daemon, it throws `noDaemon`. It ends when its task is cancelled, or by
/// throwing: `resync` if the cursor is older than the deletions that the daemon remembers (read the history again, and
/// continue from its cursor), and refusals of the daemon.
public struct ChangeStream: AsyncSequence, Sendable {
    /// A change.
    public typealias Element = NotificationChange
    /// Why it ends.
    public typealias Failure = ClientError

    static let pageLimit = 100

    private let makeReader: @Sendable (SocketStop) -> FeedSubscription

    init(_ makeReader: @escaping @Sendable (SocketStop) -> FeedSubscription) {
        self.makeReader = makeReader
    }

    /// Starts at the requested position of the feed.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(FeedSource(makeReader))
    }

    /// One reading of the feed.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let source: FeedSource
        /// Changes that were read ahead, in reverse order.
        private var pending: [NotificationChange] = []
        private var hasEnded = false

        fileprivate init(_ source: FeedSource) {
            self.source = source
        }

        /// The next change; nil if the task was cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ClientError) -> NotificationChange? {
            if let change = pending.popLast() { return change }
            guard !hasEnded else { return nil }
            let source = source
            let changes = await withTaskCancellationHandler {
                await source.next()
            } onCancel: {
                source.stop.stop()
            }
            switch changes {
            case .success(let changes):
                pending = changes.reversed()
                hasEnded = changes.isEmpty
                return pending.popLast()
            case .failure(let error):
                hasEnded = true
                throw error
            }
        }

        /// The next change; nil if the task was cancelled.
        public mutating func next() async throws(ClientError) -> NotificationChange? {
            try await next(isolation: nil)
        }
    }
}

/// Waits for changes: an actor on its own queue, whose thread may block.
private actor FeedSource {
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    nonisolated let stop = SocketStop()
    private nonisolated let executor = QueueExecutor("blobd.changes")
    private var reader: FeedSubscription

    init(_ makeReader: @Sendable (SocketStop) -> FeedSubscription) {
        reader = makeReader(stop)
    }

    /// - Returns: no changes if it was stopped.
    func next() -> Result<[NotificationChange], ClientError> {
        do throws(ClientError) {
            while let (page, _) = try reader.next() {
                // The others are heartbeats.
                if !page.changes.isEmpty { return .success(page.changes) }
            }
            return .success([])
        } catch {
            return .failure(error)
        }
    }
}

/// Reads an owner's feed page by page, blocking. When the daemon goes away, it reconnects and continues where it was:
/// no change is missed or repeated.
package struct FeedSubscription: ~Copyable {
    static let firstPauseMilliseconds = 100
    static let longestPauseMilliseconds = 5_000

    package private(set) var cursor: String

    private let owner: String
    private let limit: Int
    private let filter: NotificationFilter
    private let connect: @Sendable () throws(ClientError) -> BlobConnection
    private let stop: SocketStop
    private var connection: BlobConnection?
    private var pauseMilliseconds = FeedSubscription.firstPauseMilliseconds
    /// Whether a daemon was ever reached. Until then its absence is an error.
    private var hasBegun = false

    package init(
        socketPath: String, options: BlobConnection.Options, owner: String, since: String,
        limit: Int, matching filter: NotificationFilter = NotificationFilter(), stop: SocketStop
    ) {
        self.init(owner: owner, since: since, limit: limit, matching: filter, stop: stop) {
            () throws(ClientError) in
            try BlobConnection.connect(to: socketPath, options: options, stop: stop)
        }
    }

    init(
        owner: String, since: String, limit: Int,
        matching filter: NotificationFilter = NotificationFilter(), stop: SocketStop,
        connect: @escaping @Sendable () throws(ClientError) -> BlobConnection
    ) {
        self.owner = owner
        self.cursor = since
        self.limit = limit
        self.filter = filter
        self.stop = stop
        self.connect = connect
    }

    /// Waits for the next page, which may be empty, and its JSON. Nil if it was stopped. Throws `noDaemon` if a daemon was never
    /// reached, `resync`, and refusals of the daemon.
    package mutating func next() throws(ClientError) -> (page: ChangePage, document: [UInt8])? {
        while !stop.isStopped {
            do throws(ClientError) {
                return try receive()
            } catch {
                guard !stop.isStopped else { return nil }
                guard hasBegun, error.mayPass else { throw error }
                stop.wait(milliseconds: pauseMilliseconds)
                pauseMilliseconds = min(pauseMilliseconds * 2, Self.longestPauseMilliseconds)
            }
        }
        return nil
    }

    private mutating func receive() throws(ClientError) -> (page: ChangePage, document: [UInt8]) {
        var current: BlobConnection
        if let kept = connection.take() {
            current = kept
        } else {
            current = try connect()
            hasBegun = true
            _ = try current.queueCall(
                .changes(of: owner, since: cursor, limit: limit, matching: filter),
                isWatch: true)
            try current.flush()
            // The daemon may be silent from now on. Its exit is noticed.
            current.socket.setTimeout(milliseconds: 0)
        }
        let answer = try current.receive()
        switch answer.outcome {
        case .called(let called) where answer.continues:
            let page = try ChangePage(document: called.body)
            connection = consume current
            cursor = page.next
            pauseMilliseconds = Self.firstPauseMilliseconds
            return (page, called.body)
        case .failed(let error): throw error
        default: throw current.unexpected(answer.outcome)
        }
    }
}

extension ClientError {
    /// Whether it may succeed after the daemon has restarted.
    fileprivate var mayPass: Bool {
        switch self {
        case .noDaemon, .closed, .timeout, .io: true
        case .refused(let problem): problem.status == 503
        default: false
        }
    }
}
