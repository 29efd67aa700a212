/// Every change of an owner's notifications, as it is committed: deletions and expiries too. Of
/// several changes of one notification that were not read yet only the latest comes.
///
/// ```swift
/// for try await change in client.changes(of: "ann", since: cursor) {
///     apply(change)
///     cursor = change.cursor      // keep it with what was applied
/// }
/// ```
///
/// Each loop has a connection and a thread that waits on it. When the daemon is stopped or started
/// again the loop goes on from where it was, by itself; a daemon that was never there is
/// `noDaemon`. It ends with its task, whose cancellation closes the connection, and by throwing:
/// `resync` when the cursor is older than what the daemon remembers of deletions (read the history
/// anew, and go on from its cursor), and what the daemon refuses.
public struct ChangeStream: AsyncSequence, Sendable {
    /// What comes.
    public typealias Element = NotificationChange
    /// Why it ends.
    public typealias Failure = ClientError

    /// The most changes that are read at once and kept until they are asked for.
    static let pageLimit = 100

    private let makeReader: @Sendable (SocketStop) -> FeedSubscription

    init(_ makeReader: @escaping @Sendable (SocketStop) -> FeedSubscription) {
        self.makeReader = makeReader
    }

    /// Begins from the start of the feed that was asked for.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(FeedSource(makeReader))
    }

    /// One reading of the feed.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let source: FeedSource
        /// What was read and not asked for yet, the next one last.
        private var pending: [NotificationChange] = []
        private var hasEnded = false

        fileprivate init(_ source: FeedSource) {
            self.source = source
        }

        /// The next change; nil when the task was cancelled.
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

        /// The next change; nil when the task was cancelled.
        public mutating func next() async throws(ClientError) -> NotificationChange? {
            try await next(isolation: nil)
        }
    }
}

/// Where the waiting happens: an actor on a queue of its own, whose thread may block.
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

    /// Waits for changes. None: it was stopped.
    func next() -> Result<[NotificationChange], ClientError> {
        do throws(ClientError) {
            while let page = try reader.next() {
                // The signs of life in between are the reader's own affair.
                guard page.changeCount > 0 else { continue }
                let changes = try ChangePage(document: page.document).changes
                if !changes.isEmpty { return .success(changes) }
            }
            return .success([])
        } catch {
            return .failure(error)
        }
    }
}
