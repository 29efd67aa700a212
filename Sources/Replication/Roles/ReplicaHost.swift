package import BlobStore

/// What taking part in a shard needs of a process: what the operator wants, clocks, and a log.
package protocol ShardHost: AnyObject, Sendable {
    var settings: ReplicaSettings { get }

    var uptime: Int64 { get }

    var now: Timestamp { get }

    func log(_ level: ReplicaLogLevel, _ text: String)

    /// Whether this process knows that the bucket has its shard, and keeps conditional creates.
    var isShardChecked: Bool { get }

    func noteShardChecked()

    /// Throws unless the server keeps conditional creates: else two hosts could lead.
    func requireConditionalCreates() throws

    /// Waits.
    func wait(milliseconds: Int) -> Bool
}

package protocol ReplicaHost: ShardHost, StoreWriter {
    // MARK: What clients are told

    /// What this host does from now on. Changes are taken by a leader only.
    func become(_ activity: ReplicaActivity)

    func noteLeader(_ host: String)

    func noteMoved(at uptime: Int64)

    // MARK: Signs of life

    /// The epoch of which it is said that its leader is alive; nil: of none.
    var aliveEpoch: UInt64? { get }

    /// Whether replication gets on.
    var progress: ReplicaProgress { get }

    // MARK: Who waits

    var hasWaiters: Bool { get }

    func complete(upTo sequence: UInt64)

    /// A segment is about to be begun. Returns whether one is, even if there is nothing to ship: clients wait for one that
    /// is begun after they asked, since only that shows that this host led when it answered them, or a base does, which
    /// needs a new name.
    func beginSegment() -> Bool

    /// The segment that was begun last is in the log.
    func noteSegmentAppended()

    /// Answers all clients that wait: what they wait for is not in the shard.
    func failWaiters(_ why: String)
    /// Answers the clients that wait for one of these batches, or will: what it refers to is lost.
    func refuseWaiters(_ why: String, of sequences: [UInt64])

    // MARK: Requests for the lead

    func takePromotion() -> (any PromotionRequest)?
}

package struct ReplicaSettings: Sendable {
    package var shardName = ""
    package var hostName = ""
    /// Whether it may begin the shard (`--replicate`), or only joins it (`--follow`).
    package var mayBegin = false
    /// Whether changes are acknowledged in the write-ahead log while it leads.
    package var isLogging = false
    /// Bytes of the store in use from which on long payloads stay in the bucket; nil: all are fetched.
    package var localByteCountMax: Int?
    /// How long a follower finds nothing new before it takes the lead; nil: it waits to be told.
    package var autoPromoteMilliseconds: Int?
    /// How many payloads that the bucket did not give a follower keeps in memory, and asks for in turn. Others follow.
    package var ungivenPayloadCountMax = 1_024

    package init() {}
}

package enum ReplicaActivity: Sendable, Hashable {
    case starts
    /// It takes changes, which are shipped when the bucket is there.
    case leads
    /// It takes changes, and ships those of an epoch.
    case ships(epoch: UInt64)
    case follows
    /// It takes no changes for a moment: the lead is changing.
    case changes
    /// So, and it is the leader of an epoch all the same: it hands over, or applies what lies before its fence.
    case holds(epoch: UInt64)

    /// The epoch whose leader it is.
    package var epoch: UInt64? {
        switch self {
        case .ships(let epoch), .holds(let epoch): epoch
        case .starts, .leads, .follows, .changes: nil
        }
    }
}

package enum ReplicaLogLevel: Sendable {
    case debug, notice, warning, error, critical
}

package protocol PromotionRequest: Sendable {
    var isForced: Bool { get }

    func succeed(epoch: UInt64)

    func refuse(_ why: String)
}

package struct ReplicaFailure: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}

/// The process was told to stop before its store was ready.
package struct StoppedAtStart: Error {
    package init() {}
}
