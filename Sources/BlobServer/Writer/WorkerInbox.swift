import Synchronization

/// What other threads tell a worker.
struct WorkerMessage: Sendable {
    /// What there is to tell.
    enum Content: Sendable {
        /// A connection was accepted: its descriptor, which is the worker's from now on, and who is
        /// at the other end.
        case accepted(Int32, Peer)
        /// The change a connection waits for has come to this.
        case changed(ChangeResult)
        /// The memory a connection waits for is there, and reserved.
        case memoryGranted
        /// The feed a connection waits for has changed.
        case feedChanged
        /// Stop: finish what is under way.
        case stop
        /// Stop now.
        case stopAtOnce
    }

    /// The connection it is for; any for those that are for the worker.
    let token: ConnectionToken
    let content: Content
}

/// Where other threads leave messages for a worker.
final class WorkerInbox: Sendable {
    private let messages = Mutex<[WorkerMessage]>([])
    private let signal: WakeSignal

    init() throws(SystemError) {
        signal = try WakeSignal()
    }

    /// The descriptor that becomes readable when a message comes.
    var signalNumber: Int32 { signal.number }

    /// Leaves a message and wakes the worker. The queue needs no limit of its own: each connection
    /// waits for one thing at a time, and their number is limited.
    func post(_ message: WorkerMessage) {
        if leave(message) { wake() }
    }

    /// Leaves a message without waking the worker, for those who have several.
    ///
    /// - Returns: whether it is the first that waits: the caller must then ``wake()`` the worker
    ///   when it has left the others.
    func leave(_ message: WorkerMessage) -> Bool {
        messages.withLock { messages in
            messages.append(message)
            return messages.count == 1
        }
    }

    /// Wakes the worker.
    func wake() {
        signal.notify()
    }

    /// Takes all messages.
    func takeAll() -> [WorkerMessage] {
        signal.take()
        return messages.withLock { messages in
            let taken = messages
            // About as many come next time, and need not be moved as they become more.
            messages = []
            messages.reserveCapacity(taken.count)
            return taken
        }
    }
}

/// Names a connection of one worker. It is never used again for another connection.
struct ConnectionToken: Hashable, Sendable {
    /// The place in the worker's table and, above it, how often that place was used before.
    let rawValue: UInt64

    init(slot: Int, generation: UInt32) {
        rawValue = UInt64(generation) << 32 | UInt64(UInt32(slot))
    }

    init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// For the worker itself.
    static let worker = ConnectionToken(rawValue: .max)

    var slot: Int { Int(UInt32(truncatingIfNeeded: rawValue)) }
    var generation: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }
}

/// Where a connection's messages go.
struct ConnectionAddress: Sendable, Equatable {
    let inbox: WorkerInbox
    let token: ConnectionToken

    /// Tells the connection's worker something. If the connection has ended meanwhile, nothing
    /// happens.
    func post(_ content: WorkerMessage.Content) {
        inbox.post(WorkerMessage(token: token, content: content))
    }

    /// The same without waking the worker (``WorkerInbox/leave(_:)``).
    func leave(_ content: WorkerMessage.Content) -> Bool {
        inbox.leave(WorkerMessage(token: token, content: content))
    }

    static func == (left: ConnectionAddress, right: ConnectionAddress) -> Bool {
        left.token == right.token && left.inbox === right.inbox
    }
}
