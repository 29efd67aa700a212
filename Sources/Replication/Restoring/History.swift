package import BlobStore

/// The segments of a shard behind a base, from packs and from the log.
package struct History {
    private let storeID: StoreID
    /// The last segment that was read.
    package private(set) var position: LogPosition
    private var ranges: [ClosedRange<UInt64>]
    /// Segments of a pack that are read next, the next one last.
    private var packed: [Segment] = []
    /// Packs and names of the log that were read.
    package private(set) var objectCount = 0

    /// The history behind a segment. Lists the packs.
    package init(
        of storeID: StoreID, behind position: LogPosition, on bucket: some Bucket
    ) throws(ReplicationError) {
        self.storeID = storeID
        self.position = position
        ranges = try Pack.ranges(on: bucket)
    }

    /// The next segment; nil at the end of the log. Packs are preferred: who takes over may put a fence, in
    /// vain, under a name that was packed and deleted.
    ///
    /// - Throws: ``ReplicationError/damaged(name:why:)`` also when a segment is missing and later ones are there;
    ///   ``ReplicationError/forked(number:)`` when it does not continue the last one.
    package mutating func next(on bucket: some Bucket) throws(ReplicationError) -> Segment? {
        if packed.isEmpty { try readPack(on: bucket) }
        if let segment = packed.popLast() { return try advance(to: segment) }
        let number = position.number + 1
        if let segment = try Segment.read(number, on: bucket) {
            objectCount += 1
            return try advance(to: segment)
        }
        // It may have been packed and deleted since the packs were listed.
        ranges = try Pack.ranges(on: bucket)
        try readPack(on: bucket)
        if let segment = packed.popLast() { return try advance(to: segment) }
        try requireEnd(on: bucket)
        return nil
    }

    /// Reads the pack that has the next segment, where there is one.
    private mutating func readPack(on bucket: some Bucket) throws(ReplicationError) {
        let number = position.number + 1
        guard let range = ranges.last(where: { $0.contains(number) }) else { return }
        guard let segments = try Pack.segments(range, on: bucket) else {
            throw .damaged(name: ShardNames.pack(range), why: "was listed and is missing")
        }
        objectCount += 1
        packed = segments.filter { $0.head.number >= number }.reversed()
    }

    private mutating func advance(to segment: Segment) throws(ReplicationError) -> Segment {
        try segment.require(of: storeID, behind: position)
        position = segment.position
        return segment
    }

    /// Checks that nothing is behind the last segment.
    private func requireEnd(on bucket: some Bucket) throws(ReplicationError) {
        let name = ShardNames.log(position.number + 1)
        let later = try onBucket { () throws(BucketError) in
            try bucket.list(ShardNames.logPrefix, after: name)
        }
        let isPackedLater = ranges.contains { $0.lowerBound > position.number }
        guard later.isEmpty, !isPackedLater else {
            throw .damaged(
                name: name, why: "is missing, and is in no pack, but later segments are there")
        }
    }
}
