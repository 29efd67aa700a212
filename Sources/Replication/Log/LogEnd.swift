internal import BlobStore

/// Finds the last segment of the log by its names alone, however far away it is.
enum LogEnd {
    /// The last segment after a position; nil where none is after it. A LIST of the packs, one for each 1,000 names, and
    /// a GET.
    ///
    /// - Throws: as ``LogFollower/next(on:looksAtPacks:)`` where a segment before it is missing: whoever does not have
    ///   what it said can never lead.
    static func find(
        after position: LogPosition, on bucket: some Bucket
    ) throws(ReplicationError) -> Segment? {
        let packs = try Pack.ranges(reaching: position.number + 1, on: bucket)
        let names = try bucket.names(
            ShardNames.logPrefix, after: ShardNames.log(position.number))
        let numbers = names.compactMap { ShardNames.number($0, after: ShardNames.logPrefix) }
        let listed = Set(numbers)
        var last = position.number
        while true {
            if let pack = packs.last(where: { $0.contains(last + 1) }) {
                last = pack.upperBound
            } else if listed.contains(last + 1) {
                last += 1
            } else {
                break
            }
        }
        guard max(numbers.last ?? 0, packs.map(\.upperBound).max() ?? 0) <= last else {
            if let newest = try BaseManifest.numbers(on: bucket).last, newest > last {
                throw .tooOld(position: position.number)
            }
            throw .damaged(
                name: ShardNames.log(last + 1), why: "is missing, but later segments exist")
        }
        guard last > position.number else { return nil }
        if let segment = try Segment.read(last, on: bucket) { return segment }
        guard let pack = packs.last(where: { $0.contains(last) }),
            let segment = try Pack.segments(pack, on: bucket)?.last(where: {
                $0.head.number == last
            })
        else { throw .damaged(name: ShardNames.log(last), why: "is listed but cannot be read") }
        return segment
    }
}
