package import BlobStore

/// Reads the log of a shard, segment by segment. While it finds one after the other it reads ahead, several names at
/// once.
///
/// A value: a copy reads the same segments again. A caller that must apply a segment before it counts as read reads
/// with a copy, and keeps the copy afterwards.
package struct LogFollower {
    private let storeID: StoreID
    package private(set) var position: LogPosition
    /// What follows, as far as it is read. A slice: a copy of this reader shares it, and taking the first one moves
    /// nothing.
    private var ahead: ArraySlice<Segment> = []
    private var readAhead = ReadAhead()

    package init(storeID: StoreID, after position: LogPosition) {
        self.storeID = storeID
        self.position = position
    }

    /// The next segment; nil where there is none yet. One request where it is there or not there yet; for a fence one
    /// more, or three (``Fence``).
    ///
    /// - Parameter looksForBase: whether it is found out why the name is missing: it may have been collected, or
    ///   there is a gap. Two requests more.
    /// - Throws: ``ReplicationError/tooOld(position:)`` when the bucket has it no more, and a newer base;
    ///   ``ReplicationError/damaged(name:why:)`` when it is missing and later ones are there;
    ///   ``ReplicationError/forked(number:)`` when it does not continue what was read.
    package mutating func next(
        on bucket: some Bucket, looksForBase: Bool
    ) throws(ReplicationError) -> Segment? {
        guard let segment = try peek(on: bucket, looksForBase: looksForBase) else { return nil }
        try segment.require(of: storeID, after: position)
        ahead.removeFirst()
        position = segment.position
        return segment
    }

    /// Whether the next segment is read already, or the end was not met: their reader is behind.
    package var isBehind: Bool { !ahead.isEmpty || readAhead.isBehind }

    /// The segment that ``next(on:looksForBase:)`` gives next. It is not read again then.
    mutating func peek(
        on bucket: some Bucket, looksForBase: Bool
    ) throws(ReplicationError) -> Segment? {
        if let segment = ahead.first { return segment }
        let count = readAhead.count
        let found = try read(count, on: bucket, looksForBase: looksForBase)
        readAhead.note(found, of: count)
        // What does not continue what was read is not kept: another object may come under its name.
        var last = position
        ahead = found.prefix { segment in
            defer { last = segment.position }
            return (try? segment.require(of: storeID, after: last)) != nil
        }
        return found.first
    }

    private var wanted: UInt64 { position.number + 1 }

    private func read(
        _ count: Int, on bucket: some Bucket, looksForBase: Bool
    ) throws(ReplicationError) -> ArraySlice<Segment> {
        let names = try Segment.read(wanted..<wanted + UInt64(count), on: bucket)
        var found = try names[0].get()
        if found == nil, looksForBase { found = try late(on: bucket) }
        guard let found else { return [] }
        if found.head.kind == .fence { try Fence.require(found, on: bucket) }
        guard found.head.kind == .batches else { return [found] }
        // What is wrong with a later one is found out when it is the next.
        let rest = names.dropFirst().lazy.map { try? $0.get() }
        return [found] + rest.prefix { $0?.head.kind == .batches }.compactMap(\.self)
    }

    /// Finds out whether a missing name is the end of the log: nil, or a gap. It may have been appended since the last
    /// look, with others after it. What is listed is there, whatever a GET says of it.
    private func late(on bucket: some Bucket) throws(ReplicationError) -> Segment? {
        let name = ShardNames.log(wanted)
        let listed = try bucket.list(ShardNames.logPrefix, after: ShardNames.log(position.number))
        let first = listed.objects.first?.name
        if first == name {
            if let segment = try Segment.read(wanted, on: bucket) { return segment }
            throw .damaged(name: name, why: "is listed but cannot be read")
        }
        return try LogEnd.require(
            after: position.number, hasLater: first != nil, from: position, on: bucket)
    }
}
