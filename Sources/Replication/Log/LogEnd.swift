internal import BlobStore

/// Finds the last segment of the log by its names alone, however far away it is.
enum LogEnd {
    /// The last segment after a position; nil where none is after it. A LIST for each 1,000 names, another one, and a GET.
    ///
    /// - Throws: as ``LogFollower/next(on:looksForBase:)`` where a segment before it is missing, or a fence before it is
    ///   none: whoever does not have what it said can never lead.
    static func find(
        after position: LogPosition, on bucket: some Bucket
    ) throws(ReplicationError) -> Segment? {
        let names = try bucket.objects(
            ShardNames.logPrefix, after: ShardNames.log(position.number)
        ).compactMap(\.inLog)
        let last = names.reduce(position.number) { $1.number == $0 + 1 ? $1.number : $0 }
        guard last == names.last?.number else {
            try require(after: last, hasLater: !names.isEmpty, from: position, on: bucket)
            return nil
        }
        try requireFences(among: names, on: bucket)
        guard let segment = try Segment.read(last, on: bucket) else {
            throw .damaged(name: ShardNames.log(last), why: "is listed but cannot be read")
        }
        return segment
    }

    /// Checks that the log ends with a segment, after which a name is missing.
    ///
    /// - Parameter position: of whoever asks: a store before a base continues from that.
    static func require(
        after last: UInt64, hasLater: Bool, from position: LogPosition, on bucket: some Bucket
    ) throws(ReplicationError) {
        guard try BaseManifest.numbers(from: last + 1, on: bucket).isEmpty else {
            throw .tooOld(position: position.number)
        }
        guard hasLater else { return }
        throw .damaged(
            name: ShardNames.log(last + 1), why: "is missing, but later segments exist")
    }

    /// With a fence that is none the log seems to continue where it was collected. Only those that a base is past can be
    /// such, and a GET for each name as short as a fence is seldom needed.
    private static func requireFences(
        among names: [(number: UInt64, byteCount: Int)], on bucket: some Bucket
    ) throws(ReplicationError) {
        guard let first = names.first?.number,
            let base = try BaseManifest.numbers(from: first, on: bucket).last
        else { return }
        for name in names
        where name.number <= base && name.byteCount <= Segment.emptyByteCount {
            guard let segment = try Segment.read(name.number, on: bucket),
                segment.head.kind == .fence
            else { continue }
            try Fence.require(segment, on: bucket)
        }
    }
}

extension ListPage.Object {
    /// The number of a name of the log, and its bytes; nil: it is another name.
    var inLog: (number: UInt64, byteCount: Int)? {
        ShardNames.number(name, after: ShardNames.logPrefix).map { ($0, byteCount) }
    }
}
