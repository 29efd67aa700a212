internal import BlobStore

/// Finds the last segment of the log by its names alone, however far away it is.
enum LogEnd {
    /// The last segment after a position; nil where none is after it. A LIST for each 1,000 names, and a GET.
    ///
    /// - Throws: as ``LogFollower/next(on:looksForBase:)`` where a segment before it is missing: whoever does not have what
    ///   it said can never lead.
    static func find(
        after position: LogPosition, on bucket: some Bucket
    ) throws(ReplicationError) -> Segment? {
        let numbers = try bucket.names(
            ShardNames.logPrefix, after: ShardNames.log(position.number)
        ).compactMap { ShardNames.number($0, after: ShardNames.logPrefix) }
        let last = numbers.reduce(position.number) { $1 == $0 + 1 ? $1 : $0 }
        guard last == numbers.last else {
            return try require(
                after: last, hasLater: !numbers.isEmpty, from: position, on: bucket)
        }
        guard let segment = try Segment.read(last, on: bucket) else {
            throw .damaged(name: ShardNames.log(last), why: "is listed but cannot be read")
        }
        return segment
    }

    /// Checks that the log ends with a segment, after which a name was missing when the log was listed. Returns what has
    /// come under that name since then, as far as it is known.
    ///
    /// - Parameter position: of whoever asks: a store before a base continues from that.
    static func require(
        after last: UInt64, hasLater: Bool, from position: LogPosition, on bucket: some Bucket
    ) throws(ReplicationError) -> Segment? {
        guard try !BaseManifest.numbers(from: last + 1, on: bucket).isEmpty else {
            guard hasLater else { return nil }
            throw .damaged(
                name: ShardNames.log(last + 1), why: "is missing, but later segments exist")
        }
        // Both may have come after the listing: what is there now was not collected.
        do throws(ReplicationError) {
            if let segment = try Segment.read(last + 1, on: bucket) { return segment }
        } catch {
            guard case .damaged = error else { throw error }
        }
        throw .tooOld(position: position.number)
    }
}
