internal import BlobStore

/// Whether a fence is one. The name of a segment that was collected is free again, and a host that slept while it took
/// the lead may create its fence there.
///
/// Nothing is collected that no base is past, so a fence is one where no base is at its number or after it, and such a
/// base is there before the name is free. Otherwise it is one if something continues it: whoever would write that asks
/// here first, and so nothing is ever written after a fence that is none. And whoever leads continues its fence before a
/// base after it counts. This costs a LIST, which must not be stale.
enum Fence {
    /// - Throws: ``ReplicationError/tooOld(position:)`` for one that is none: what this reader has is before a base.
    static func require(
        _ fence: Segment, on bucket: some Bucket
    ) throws(ReplicationError) {
        let number = fence.head.number
        guard try !BaseManifest.numbers(from: number, on: bucket).isEmpty,
            try next(after: number, on: bucket)?.previous != fence.position
        else { return }
        throw .tooOld(position: number - 1)
    }

    private static func next(
        after number: UInt64, on bucket: some Bucket
    ) throws(ReplicationError) -> Segment.Head? {
        do throws(ReplicationError) { return try Segment.read(number + 1, on: bucket)?.head } catch
        {
            guard case .damaged = error else { throw error }
            return nil
        }
    }
}
