import BlobStore

/// The connections that a worker has still to serve in one pass.
struct DueConnections {
    /// How long a worker serves due connections before it looks for new events, in microseconds. The others stay in the
    /// run queue, and new events come first.
    private static let passMicroseconds = 5_000

    private var eventCount = 0
    private var nextEvent = 0
    /// In reverse order.
    private var messages: [WorkerMessage] = []
    private var queue: [ConnectionToken] = []
    private var nextQueued = 0
    private var passEnd = Instant(nanoseconds: 0)
    /// The next connection: its event was taken, but it could not join a batch.
    private var held: Unmanaged<Connection>?

    mutating func takeEvents(_ count: Int, asOf now: Instant) {
        passEnd = now.after(microseconds: Self.passMicroseconds)
        eventCount = count
        nextEvent = 0
    }

    /// Begins a pass over a run queue and empties it: connections added meanwhile wait for the next pass.
    mutating func take(_ runQueue: inout [ConnectionToken], asOf now: Instant) {
        passEnd = now.after(microseconds: Self.passMicroseconds)
        queue.removeAll(keepingCapacity: true)
        nextQueued = 0
        swap(&queue, &runQueue)
    }

    /// Puts connections that were not served first in the next pass. New events are served before that.
    mutating func putBack(_ runQueue: inout [ConnectionToken]) {
        guard nextQueued < queue.count else { return }
        runQueue.insert(contentsOf: queue[nextQueued...], at: 0)
        nextQueued = queue.count
    }

    /// Adds messages, which are served before the next event.
    mutating func take(_ messages: consuming [WorkerMessage]) {
        // In place: a copy would move whole records.
        messages.reverse()
        self.messages = messages
    }

    /// Whether something is to be served before the next event.
    var hasEarlier: Bool { held != nil || !messages.isEmpty }

    mutating func hold(_ connection: Unmanaged<Connection>) {
        precondition(held == nil, "a connection would be forgotten")
        held = connection
    }

    @inline(__always)
    func isPassOver(asOf now: Instant) -> Bool { now >= passEnd }

    /// The number of the next event, or nil. Messages and the held connection must be taken first.
    @inline(__always)
    mutating func takeEvent() -> Int? {
        guard nextEvent < eventCount else { return nil }
        defer { nextEvent += 1 }
        return nextEvent
    }

    @inline(__always)
    mutating func takeHeld() -> Unmanaged<Connection>? { held.take() }

    @inline(__always)
    mutating func takeMessage() -> WorkerMessage? { messages.popLast() }

    /// The next of the run queue; nil when the pass is over.
    mutating func takeQueued(asOf now: Instant) -> ConnectionToken? {
        guard nextQueued < queue.count, !isPassOver(asOf: now) else { return nil }
        defer { nextQueued += 1 }
        return queue[nextQueued]
    }
}
