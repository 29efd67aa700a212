internal import BlobStore

/// Finds the last segment of the log by its names alone, however far away it is.
enum LogEnd {
    /// The last segment after a position; nil where none is after it. A LIST for each 1,000 names, another one, and a GET.
    ///
    /// - Throws: as ``LogFollower/next(on:looksForBase:)`` where a segment before it is missing: whoever does not have
    ///   what it said can never lead; and for a fence that is none.
    static func find(
        after position: LogPosition, on bucket: some Bucket
    ) throws(ReplicationError) -> Segment? {
        let names = try bucket.names(
            ShardNames.logPrefix, after: ShardNames.log(position.number))
        let numbers = names.compactMap { ShardNames.number($0, after: ShardNames.logPrefix) }
        let last = numbers.reduce(position.number) { $1 == $0 + 1 ? $1 : $0 }
        let end = numbers.last ?? last
        if last == end, last > position.number {
            guard let segment = try Segment.read(last, on: bucket) else {
                throw .damaged(name: ShardNames.log(last), why: "is listed but cannot be read")
            }
            if segment.head.kind == .fence { try Fence.require(segment, on: bucket) }
            return segment
        }
        guard try BaseManifest.numbers(from: last + 1, on: bucket).isEmpty else {
            throw .tooOld(position: position.number)
        }
        guard last < end else { return nil }
        throw .damaged(
            name: ShardNames.log(last + 1), why: "is missing, but later segments exist")
    }
}
