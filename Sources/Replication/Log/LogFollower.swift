package import BlobStore

/// Reads the log of a shard, segment by segment: from its names, and from packs where those are deleted. While it
/// finds one after the other it reads ahead, several names at once.
///
/// A value: a copy reads the same segments again. A caller that must apply a segment before it counts as read reads
/// with a copy, and keeps the copy afterwards.
package struct LogFollower {
    private let storeID: StoreID
    package private(set) var position: LogPosition
    /// Kept from look to look: a restore reads thousands of them.
    private var packs: [ClosedRange<UInt64>] = []
    /// What follows, as far as it is read. A slice: a copy of this reader shares it, and taking the first one moves
    /// nothing.
    private var ahead: ArraySlice<Segment> = []
    private var readAhead = ReadAhead()

    package init(storeID: StoreID, after position: LogPosition) {
        self.storeID = storeID
        self.position = position
    }

    /// The next segment; nil where there is none yet. One request where it is there or not there yet.
    ///
    /// - Parameter looksAtPacks: whether it is found out why the name is missing: it may have been packed and
    ///   deleted, or there is a gap. Two requests more.
    /// - Throws: ``ReplicationError/tooOld(position:)`` when the bucket has it no more, and a newer base or
    ///   pack; ``ReplicationError/damaged(name:why:)`` when it is missing and later ones are there;
    ///   ``ReplicationError/forked(number:)`` when it does not continue what was read.
    package mutating func next(
        on bucket: some Bucket, looksAtPacks: Bool
    ) throws(ReplicationError) -> Segment? {
        guard let segment = try peek(on: bucket, looksAtPacks: looksAtPacks) else { return nil }
        try segment.require(of: storeID, after: position)
        ahead.removeFirst()
        position = segment.position
        return segment
    }

    /// Whether there is more than one segment after another: their reader is behind.
    package var isBehind: Bool { readAhead.isBehind }

    /// The segment that ``next(on:looksAtPacks:)`` gives next. It is not read again then.
    mutating func peek(
        on bucket: some Bucket, looksAtPacks: Bool
    ) throws(ReplicationError) -> Segment? {
        if let segment = ahead.first { return segment }
        let count = readAhead.count
        let found = try read(count, on: bucket, looksAtPacks: looksAtPacks)
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

    private mutating func read(
        _ count: Int, on bucket: some Bucket, looksAtPacks: Bool
    ) throws(ReplicationError) -> ArraySlice<Segment> {
        if let segments = try readPacked(on: bucket) { return segments }
        let names = try Segment.read(
            wanted..<wanted + UInt64(count), on: bucket)
        let found = try names[0].get()
        // A fence may have been put where the name was free because it had been packed. The pack is the history
        // then.
        guard found?.head.kind == .fence || (found == nil && looksAtPacks) else {
            // What is wrong with a later one is found out when it is the next. A fence is looked at alone.
            let segments = names.lazy.map { try? $0.get() }.prefix { $0?.head.kind == .batches }
            return found.map { $0.head.kind == .batches ? segments.compactMap(\.self)[...] : [$0] }
                ?? []
        }
        var listed: ClosedRange<UInt64>?
        // A pack may be replaced by a longer one after it was listed. What is listed again is there, whatever a GET
        // says of it.
        for _ in 0..<2 {
            packs = try Pack.ranges(reaching: wanted, on: bucket)
            listed = packs.last { $0.contains(wanted) }
            if listed == nil { break }
            if let segments = try readPacked(on: bucket) { return segments }
        }
        if let listed {
            throw .damaged(name: ShardNames.pack(listed), why: "is listed but cannot be read")
        }
        if packs.contains(where: { $0.upperBound >= wanted }) {
            throw .tooOld(position: position.number)
        }
        if let found { return [found] }
        return try readLate(on: bucket).map { [$0] } ?? []
    }

    private mutating func readPacked(
        on bucket: some Bucket
    ) throws(ReplicationError) -> ArraySlice<Segment>? {
        guard let index = packs.lastIndex(where: { $0.contains(wanted) }) else { return nil }
        guard let segments = try Pack.segments(packs[index], on: bucket) else {
            packs.remove(at: index)
            return nil
        }
        return segments.drop { $0.head.number < wanted }
    }

    /// Finds out whether a name that is in no pack is the end of the log: nil, or a gap. It may have been appended
    /// since the last look, with others after it. What is listed is there, whatever a GET says of it.
    private func readLate(on bucket: some Bucket) throws(ReplicationError) -> Segment? {
        let name = ShardNames.log(wanted)
        let listed = try bucket.list(ShardNames.logPrefix, after: ShardNames.log(position.number))
        guard let first = listed.objects.first?.name else { return nil }
        if first == name {
            if let segment = try Segment.read(wanted, on: bucket) { return segment }
            throw .damaged(name: name, why: "is listed but cannot be read")
        }
        // A store behind the gap continues from a base that is on its other side.
        if let newest = try BaseManifest.numbers(on: bucket).last, newest >= wanted {
            throw .tooOld(position: position.number)
        }
        throw .damaged(name: name, why: "is missing, but later segments exist")
    }
}
