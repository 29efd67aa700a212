internal import BlobStore

/// Whether a fence counts. The name of a segment that was collected is free again, and a host that slept while it took
/// the lead may create its fence there: a void one.
///
/// Nothing is collected unless a base is past it, and that base, or a later one, is there from then on. So a fence counts
/// if no base is at its number or after it. Otherwise it counts if something continues it: nobody writes after a fence
/// without asking here first, so nothing continues a void one; and a leader's first batch, which continues its fence, is
/// in each base that it makes, and in the log before the base counts (``BaseWriter/finish(on:)``). This costs a LIST, which
/// must not be stale.
enum Fence {
    /// - Throws: ``ReplicationError/tooOld(position:)`` for a void one: what this reader has is before a base.
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
