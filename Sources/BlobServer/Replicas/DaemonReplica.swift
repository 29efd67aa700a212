import BlobProtocol
import BlobStore
import Replication
import Synchronization

/// What a daemon gives the replica that it runs.
final class DaemonReplica: ReplicaHost {
    private let context: ReplicaThread.Context

    init(_ context: ReplicaThread.Context) { self.context = context }

    private var status: ReplicaStatus { context.replica }

    var settings: ReplicaSettings { context.access.settings }

    var uptime: Int64 { context.access.uptime }

    var now: Timestamp { context.access.now }

    func log(_ level: ReplicaLogLevel, _ text: String) { context.access.log(level, text) }

    var isShardChecked: Bool { context.access.isShardChecked }

    func noteShardChecked() { context.access.noteShardChecked() }

    func requireConditionalCreates() throws { try context.access.requireConditionalCreates() }

    func wait(milliseconds: Int) -> Bool { context.access.wait(milliseconds: milliseconds) }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (BlobStore) throws(StoreError) -> Value
    ) throws(StoreError) -> Value { try context.writer.perform(body) }

    func become(_ activity: ReplicaActivity) {
        // First that nothing is shipped any more, then that changes are refused.
        var epoch: UInt64 = 0
        if case .ships(let number) = activity { epoch = number }
        status.leadingEpoch.store(epoch, ordering: .releasing)
        if activity != .starts { status.noteStarted() }
        switch activity {
        // Nobody is connected yet, or has waited long enough.
        case .starts: break
        case .leads, .ships: status.role = .leader
        case .follows: status.role = .follower
        case .changes: status.role = .changing
        }
    }

    func noteLeader(_ host: String) { status.leader = host }

    func noteMoved(at uptime: Int64) {
        status.movedAt.store(uptime * 1_000_000, ordering: .relaxed)
    }

    var hasWaiters: Bool { status.hasWaiters }

    func complete(upTo sequence: UInt64) {
        // First whether changes are refused: a client that is answered may send the next one at once.
        status.look(at: context.store, asOf: .now)
        status.complete(upTo: sequence, asOf: .now)
    }

    func failWaiters(_ why: String) { status.failAll(ProtocolError(.unreplicated, why)) }

    func takePromotion() -> (any PromotionRequest)? { status.takePromotion() }

    var newestEpoch: UInt64? {
        let epoch = status.newestEpoch.load(ordering: .acquiring)
        return epoch == 0 ? nil : epoch
    }
}

extension WriterThread: StoreWriter {
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (BlobStore) throws(StoreError) -> Value
    ) throws(StoreError) -> Value { try perform(body) }
}
