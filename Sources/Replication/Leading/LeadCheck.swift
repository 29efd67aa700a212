internal import BlobStore

/// Finds out whether a store leads still, before it deletes something.
///
/// The fence of whoever leads after it has the name after its last segment, and is never collected. But a segment of its
/// own may be there that it does not know of yet: then the fence is behind that, and once a base is past both, that
/// segment may be gone again. So where the name is free, a base after it says the same.
enum LeadCheck {
    /// A GET or two, and a LIST. While it runs the store may ship on.
    ///
    /// - Throws: ``ReplicationError/deposed(epoch:leader:)`` where another store leads, or this one in another epoch.
    static func require(
        _ epoch: UInt64, of store: BlobStore, on bucket: some Bucket
    ) throws(ReplicationError) {
        var (first, number): (UInt64?, UInt64) = (nil, 0)
        while true {
            guard let state = store.replicationState, state.epoch == epoch else {
                throw deposed(after: epoch)
            }
            let last = state.position.number
            // It was created after the one before it was known to be there, and that was since this began.
            if let first, last >= first + 2 { return }
            first = first ?? last
            number = max(number, last) + 1
            guard let head = try Segment.read(number, on: bucket)?.head else { break }
            guard head.epoch == epoch else { throw deposed(after: epoch) }
        }
        guard try BaseManifest.numbers(from: number, on: bucket).isEmpty else {
            throw deposed(after: epoch)
        }
    }

    /// Who ships finds out by whom.
    private static func deposed(after epoch: UInt64) -> ReplicationError {
        .deposed(epoch: epoch + 1, leader: AliveDocument.unknownHost)
    }
}
