internal import BlobStore

package enum Epochs {
    package struct Found: Sendable, Hashable {
        package var number: UInt64
        package var document: EpochDocument
    }

    /// The highest epoch; nil before the first. Two requests.
    package static func newest(on bucket: some Bucket) throws(ReplicationError) -> Found? {
        guard let number = try newestNumber(on: bucket) else { return nil }
        return Found(number: number, document: try document(number, on: bucket))
    }

    static func newestNumber(on bucket: some Bucket) throws(ReplicationError) -> UInt64? {
        let names = try bucket.names(ShardNames.epochPrefix)
        return names.compactMap { ShardNames.number($0, after: ShardNames.epochPrefix) }.max()
    }

    /// Checks that a store leads still, before it deletes something. One request.
    static func requireNewest(
        _ epoch: UInt64, on bucket: some Bucket
    ) throws(ReplicationError) {
        let newer = try bucket.list(ShardNames.epochPrefix, after: ShardNames.epoch(epoch))
        guard let name = newer.objects.last?.name,
            let number = ShardNames.number(name, after: ShardNames.epochPrefix)
        else { return }
        throw .deposed(
            epoch: number, leader: host(of: number, on: bucket))
    }

    static func host(of number: UInt64, on bucket: some Bucket) -> String {
        (try? document(number, on: bucket))?.host ?? "another host"
    }

    static func document(
        _ number: UInt64, on bucket: some Bucket
    ) throws(ReplicationError) -> EpochDocument {
        try bucket.readExisting(
            ShardNames.epoch(number), absence: "was listed but does not exist",
            EpochDocument.init(_:))
    }

    @discardableResult
    package static func create(
        _ number: UInt64, _ document: EpochDocument, on bucket: some Bucket,
        attemptCountMax: Int = .max
    ) throws(ReplicationError) -> Bool {
        try bucket.createUntilKnown(
            ShardNames.epoch(number), document.bytes,
            byteCountMax: ReplicationLimits.documentByteCountMax,
            attemptCountMax: attemptCountMax) == nil
    }
}
