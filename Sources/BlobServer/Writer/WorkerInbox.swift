import BlobStore
import Synchronization

struct WorkerMessage: Sendable {
    enum Content: Sendable {
        /// A descriptor, which the worker owns from now on.
        case accepted(Int32, Peer, isDevice: Bool)
        /// With where it is in the store.
        case changed(ChangeResult, in: BatchSpan = .none)
        /// What a connection waits for is replicated, or has reached this follower.
        case replicated(ChangeResult)
        case memoryGranted
        case feedChanged
        case backupReady
        /// Asks for a sign of progress (``ProgressCheck``).
        case progressCheck
        case stop
        case stopAtOnce
    }

    /// The recipient. Messages for the worker itself may have any token.
    let token: ConnectionToken
    let content: Content
}

final class WorkerInbox: Sendable {
    private let messages = Mutex<[WorkerMessage]>([])
    private let signal: WakeSignal

    init() throws(SystemError) {
        signal = try WakeSignal()
    }

    var signalNumber: Int32 { signal.number }

    /// The queue needs no limit: each connection waits for one message at a time.
    func post(_ message: WorkerMessage) {
        if leave(message) { wake() }
    }

    /// For callers with several messages. If true, the queue was empty: ``wake()`` the worker after the others.
    func leave(_ message: WorkerMessage) -> Bool {
        messages.withLock { messages in
            messages.append(message)
            return messages.count == 1
        }
    }

    func wake() {
        signal.notify()
    }

    func takeAll() -> [WorkerMessage] {
        signal.take()
        return messages.withLock { messages in
            let taken = messages
            // About as many will follow, and an array of that size need not grow.
            messages = []
            messages.reserveCapacity(taken.count)
            return taken
        }
    }
}

/// Identifies a connection of one worker. Never reused for another connection.
struct ConnectionToken: Hashable, Sendable {
    /// The slot in the worker's table and, in the upper half, the number of earlier uses of that slot.
    let rawValue: UInt64

    init(slot: Int, generation: UInt32) {
        rawValue = UInt64(generation) << 32 | UInt64(UInt32(slot))
    }

    init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    static let worker = ConnectionToken(rawValue: .max)

    var slot: Int { Int(UInt32(truncatingIfNeeded: rawValue)) }
    var generation: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 32) }
}

struct ConnectionAddress: Sendable, Equatable {
    let inbox: WorkerInbox
    let token: ConnectionToken

    /// If the connection has ended, the worker drops the message.
    func post(_ content: WorkerMessage.Content) {
        inbox.post(WorkerMessage(token: token, content: content))
    }

    func leave(_ content: WorkerMessage.Content) -> Bool {
        inbox.leave(WorkerMessage(token: token, content: content))
    }

    static func == (left: ConnectionAddress, right: ConnectionAddress) -> Bool {
        left.token == right.token && left.inbox === right.inbox
    }
}

/// Leaves messages for several connections, and wakes each worker once after the last one. A worker that woke for the
/// first message would take the processor from this thread.
struct InboxWakes: ~Copyable {
    private var inboxes: [WorkerInbox] = []

    mutating func leave(_ content: WorkerMessage.Content, for connection: ConnectionAddress) {
        if connection.leave(content) { inboxes.append(connection.inbox) }
    }

    consuming func wakeAll() {
        for inbox in inboxes { inbox.wake() }
    }

    static func post(_ messages: [(ConnectionAddress, WorkerMessage.Content)]) {
        var wakes = InboxWakes()
        for (connection, content) in messages { wakes.leave(content, for: connection) }
        wakes.wakeAll()
    }
}
