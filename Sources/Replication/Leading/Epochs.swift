internal import BlobStore

/// The epochs of a shard, as the bucket has them.
package enum Epochs {
    /// An epoch and who created it.
    package struct Found: Sendable, Hashable {
        package var number: UInt64
        package var document: EpochDocument
    }

    /// The highest epoch; nil before the first. Two requests.
    package static func newest(on bucket: some Bucket) throws(ReplicationError) -> Found? {
        guard let number = try newestNumber(on: bucket) else { return nil }
        return Found(number: number, document: try document(number, on: bucket))
    }

    /// The number of the highest epoch; nil before the first. One request.
    static func newestNumber(on bucket: some Bucket) throws(ReplicationError) -> UInt64? {
        let names = try onBucket { () throws(BucketError) in
            try bucket.names(ShardNames.epochPrefix)
        }
        return names.compactMap { ShardNames.number($0, behind: ShardNames.epochPrefix) }.max()
    }

    /// Checks that a store leads still, before it deletes something. One request.
    ///
    /// - Throws: ``ReplicationError/deposed(epoch:leader:)`` when there is a newer epoch.
    static func requireNewest(
        _ epoch: UInt64, on bucket: some Bucket
    ) throws(ReplicationError) {
        let newer = try onBucket { () throws(BucketError) in
            try bucket.list(ShardNames.epochPrefix, after: ShardNames.epoch(epoch))
        }
        guard let name = newer.last,
            let number = ShardNames.number(name, behind: ShardNames.epochPrefix)
        else { return }
        throw .deposed(
            epoch: number, leader: host(of: number, on: bucket))
    }

    /// The host that created an epoch, for people.
    static func host(of number: UInt64, on bucket: some Bucket) -> String {
        (try? document(number, on: bucket))?.host ?? "another host"
    }

    static func document(
        _ number: UInt64, on bucket: some Bucket
    ) throws(ReplicationError) -> EpochDocument {
        let name = ShardNames.epoch(number)
        let bytes = try onBucket { () throws(BucketError) in
            try bucket.get(name, byteCountMax: ReplicationLimits.documentByteCountMax)
        }
        guard let bytes else { throw .damaged(name: name, why: "was listed and is not there") }
        do throws(DamagedObject) { return try EpochDocument(bytes) } catch {
            throw .damaged(name: name, why: error.description)
        }
    }

    /// Creates an epoch.
    ///
    /// - Returns: nil when it is there already, made by somebody else.
    package static func create(
        _ number: UInt64, _ document: EpochDocument, on bucket: some Bucket
    ) throws(ReplicationError) -> Found? {
        let isCreated = try onBucket { () throws(BucketError) in
            try bucket.createRepeatedly(ShardNames.epoch(number), document.bytes)
        }
        if isCreated { return Found(number: number, document: document) }
        // It may be the one whose answer was lost.
        let found = try Self.document(number, on: bucket)
        return found.nonce == document.nonce ? Found(number: number, document: found) : nil
    }
}
