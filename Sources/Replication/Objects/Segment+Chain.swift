package import BlobStore

extension Segment {
    /// Checks that it is of a store, and the one behind a position.
    ///
    /// - Throws: ``ReplicationError/damaged(name:why:)`` for one of another store,
    ///   ``ReplicationError/forked(number:)`` for one that is behind another segment.
    package func require(
        of storeID: StoreID, behind position: LogPosition
    ) throws(ReplicationError) {
        try head.require(of: storeID)
        guard head.previous == position else { throw .forked(number: head.number) }
    }
}

extension Segment.Head {
    /// Checks that it is of a store.
    package func require(of storeID: StoreID) throws(ReplicationError) {
        guard self.storeID == storeID else {
            throw .foreign(
                ShardNames.log(number), of: self.storeID.description, in: storeID.description)
        }
    }
}

extension ReplicationError {
    /// An object that another shard's store wrote.
    package static func foreign(
        _ name: String, of found: String, in expected: String
    ) -> ReplicationError {
        .damaged(
            name: name,
            why:
                "is of the store \(found), and this shard is of \(expected): another shard was copied here"
        )
    }
}
