/// Reads an owner's feed page by page, blocking. When the daemon goes away it connects again and
/// goes on where it was: nothing is missed, and nothing comes twice.
package struct FeedSubscription: ~Copyable {
    /// The waits before connecting again: the first, doubled each time up to the longest, in
    /// milliseconds.
    static let firstPauseMilliseconds = 100
    static let longestPauseMilliseconds = 5_000

    /// The cursor behind all that was read.
    package private(set) var cursor: String

    private let owner: String
    private let limit: Int
    private let filter: NotificationFilter
    private let connect: @Sendable () throws(ClientError) -> BlobConnection
    private let stop: SocketStop
    private var connection: BlobConnection?
    private var pauseMilliseconds = FeedSubscription.firstPauseMilliseconds
    /// Whether the daemon was there at all. Before that its absence is an error.
    private var hasBegun = false

    /// A reader that `stop` ends.
    package init(
        socketPath: String, options: BlobConnection.Options, owner: String, since: String,
        limit: Int, matching filter: NotificationFilter = NotificationFilter(), stop: SocketStop
    ) {
        self.init(owner: owner, since: since, limit: limit, matching: filter, stop: stop) {
            () throws(ClientError) in
            try BlobConnection.connect(to: socketPath, options: options, stop: stop)
        }
    }

    /// The same with another way to connect.
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

    /// Waits for the next page, which may be empty. Nil: it was stopped.
    ///
    /// Throws `noDaemon` when there was never one there, `resync`, and what the daemon refuses.
    package mutating func next() throws(ClientError) -> WatchedPage? {
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

    private mutating func receive() throws(ClientError) -> WatchedPage {
        var current: BlobConnection
        if let kept = connection.take() {
            current = kept
        } else {
            current = try connect()
            hasBegun = true
            _ = try current.queueWatch(
                of: owner, since: cursor, limit: limit, matching: filter)
            try current.flush()
            // From now on the daemon's silence means nothing; its end is heard.
            current.socket.setTimeout(milliseconds: 0)
        }
        let outcome = try current.receive().outcome
        switch outcome {
        case .changes(let page):
            connection = consume current
            cursor = page.next
            pauseMilliseconds = Self.firstPauseMilliseconds
            return page
        case .failed(let error): throw error
        default: throw current.unexpected(outcome)
        }
    }
}

extension ClientError {
    /// Whether the same may go well later, with the daemon started again.
    fileprivate var mayPass: Bool {
        switch self {
        case .noDaemon, .closed, .timeout, .io: true
        case .refused(let problem): problem.status == 503
        default: false
        }
    }
}
