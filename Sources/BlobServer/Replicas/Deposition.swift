import BlobProtocol
import BlobStore
import Logging
import Replication
import Synchronization

/// What a leader does when another store leads: it saves what was not replicated, and follows.
enum Deposition {
    /// Takes no changes any more, and steps down.
    ///
    /// - Returns: whether this store can follow at once: the shard has all that it did. Else it must be made
    ///   anew.
    static func run(
        _ context: ReplicaThread.Context, epoch: UInt64, host: String
    ) throws -> Bool {
        context.replica.role = .changing
        context.replica.leadingEpoch.store(0, ordering: .releasing)
        context.replica.failAll(
            ProtocolError(
                .unreplicated,
                "stored here, but \(host) leads since epoch \(epoch): it is not replicated"))
        let isLogging = context.isLogging
        // Behind this no batch is applied here: each is refused before.
        try context.writer.perform { (store) throws(StoreError) in
            if isLogging { try store.endLogging() }
        }
        context.log.warning("\(host) leads since epoch \(epoch): this daemon leads no more")
        let isSaved = try LostChanges.save(
            context.store, to: context.store.directory, context.log)
        try context.writer.perform { (store) throws(StoreError) in
            try store.stepDown(to: isSaved ? .deposed : .follower)
        }
        return !isSaved
    }
}
