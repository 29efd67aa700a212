package import BlobStore

/// Puts the segments of the log together in packs, and deletes their names some time later.
///
/// It reads the names of the log as they come: a GET for each, 8 % of what their PUTs cost at list prices, and at
/// most a pack of memory. What is packed is so what is in the bucket, also after a start.
///
/// A pack has what was in the log for good, and a name of the log is deleted only while its pack is there. So a
/// packer that was paused for however long, in whatever step, changes nothing that a later leader has: the
/// segments it knows are before the fence, and never change.
package struct Packer {
    package typealias Step = BucketMaintenance.Step

    private struct Cleanup {
        var range: ClosedRange<UInt64>
        /// Those that are there and are no fences; nil: to be looked up in the pack.
        var numbers: [UInt64]?
        var listed: [UInt64] = []
        /// Those that could not be deleted, and are tried again later.
        var left: [UInt64] = []
        /// Whether it failed before.
        var isRetry = false
        var due: Timestamp

        mutating func retry(asOf now: Timestamp) {
            isRetry = true
            due = now.adding(milliseconds: ReplicationLimits.packGraceMilliseconds)
        }
    }

    private let storeID: StoreID
    private let epoch: UInt64
    private var next: UInt64
    /// The last one that was read; nil: before the first.
    private var last: LogPosition?
    private var bytes: [UInt8] = []
    private var heads: [Segment.Head] = []
    private var isPending = false
    /// Whether the next segment could not be read the last time.
    private(set) var isUnreadable = false
    private var cleanups: [Cleanup] = []
    package private(set) var packedByteCount = 0

    /// A packer of a leader, which continues from what there is. A LIST of the packs and one of the log, and
    /// more where they have more than 1,000 names.
    package init(
        storeID: StoreID, epoch: UInt64, on bucket: some Bucket, asOf now: Timestamp
    ) throws(ReplicationError) {
        self.storeID = storeID
        self.epoch = epoch
        let ranges = try Pack.ranges(on: bucket)
        // The newest pack is never deleted: where there is none, there never was one.
        next = (ranges.map(\.upperBound).max() ?? 0) + 1
        let names = try bucket.names(ShardNames.logPrefix)
        let numbers = names.compactMap { ShardNames.number($0, after: ShardNames.logPrefix) }
        for range in ranges {
            let listed = numbers.filter { range.contains($0) }
            guard !listed.isEmpty else { continue }
            cleanups.append(
                Cleanup(
                    range: range, listed: listed,
                    due: now.adding(milliseconds: ReplicationLimits.packGraceMilliseconds)))
        }
    }

    package var firstUnpacked: UInt64 { heads.first?.number ?? next }

    /// Whether names are there still that could not be deleted.
    var hasUndeleted: Bool { cleanups.contains { $0.isRetry || !$0.left.isEmpty } }

    var nextNumber: UInt64 { next }

    /// Whether a name is not known to have something else than its segment.
    func canRead(_ number: UInt64, on bucket: some Bucket) throws(ReplicationError) -> Bool {
        do throws(ReplicationError) {
            guard let segment = try Segment.read(number, on: bucket) else { return true }
            return segment.head.storeID == storeID && (last == nil || last == segment.head.previous)
        } catch {
            if case .damaged = error { return false }
            throw error
        }
    }

    /// Leaves a segment out that the bucket has lost. What was read before it stays under its names.
    mutating func skip(_ number: UInt64) {
        guard number == next else { return }
        next += 1
        last = nil
        bytes = []
        heads = []
    }

    /// Does one step: reads some names, or makes a pack.
    package mutating func step(
        upTo position: LogPosition, on bucket: some Bucket, asOf now: Timestamp
    ) throws(ReplicationError) -> Step {
        isUnreadable = false
        if isPending || isDue(asOf: now) { return try pack(on: bucket, asOf: now) }
        guard next <= position.number else { return .nothing }
        return .read(try read(upTo: position, on: bucket, asOf: now))
    }

    private func isDue(asOf now: Timestamp) -> Bool {
        guard let first = heads.first else { return false }
        return heads.count >= ReplicationLimits.packSegmentCountMax
            || bytes.count >= ReplicationLimits.packByteCount
            || now.milliseconds - first.time.milliseconds
                >= Int64(ReplicationLimits.packMilliseconds)
    }

    private mutating func read(
        upTo position: LogPosition, on bucket: some Bucket, asOf now: Timestamp
    ) throws(ReplicationError) -> Int {
        var count = 0
        while next <= position.number, count < ReplicationLimits.namesPerStep, !isDue(asOf: now) {
            isUnreadable = true
            let found = try Segment.read(next, on: bucket)
            isUnreadable = false
            guard let segment = found else {
                // Another leader may have packed it.
                try Epochs.requireNewest(epoch, on: bucket)
                throw .damaged(
                    name: ShardNames.log(next), why: "is missing, and not in a pack yet")
            }
            guard segment.head.storeID == storeID, last == nil || last == segment.head.previous,
                next < position.number || segment.position == position
            else { throw .forked(number: next) }
            bytes += segment.bytes
            heads.append(segment.head)
            last = segment.position
            next += 1
            count += 1
        }
        return count
    }

    private mutating func pack(
        on bucket: some Bucket, asOf now: Timestamp
    ) throws(ReplicationError) -> Step {
        guard let first = heads.first, let final = heads.last else { return .nothing }
        let range = first.number...final.number
        let name = ShardNames.pack(range)
        isPending = true
        let outcome = try bucket.createOwn(name, bytes, byteCountMax: Pack.byteCountMax)
        switch outcome {
        case .done: break
        case .unknown(let why): return .unknown(why)
        case .other: throw .damaged(name: name, why: "differs from the log")
        }
        isPending = false
        packedByteCount += bytes.count
        defer {
            bytes = []
            heads = []
        }
        cleanups.append(
            Cleanup(
                range: range, numbers: heads.filter { $0.kind != .fence }.map(\.number),
                due: now.adding(milliseconds: ReplicationLimits.packGraceMilliseconds)))
        return .packed(range, byteCount: bytes.count)
    }

    /// Deletes some names of the oldest pack whose time has come. Fences are never deleted: a leader that was
    /// paused before it must find its next name taken, however late it wakes up.
    ///
    /// - Parameter failure: see ``Bucket/delete(_:noting:)``. What is stepped over is tried again later.
    /// - Throws: ``ReplicationError/deposed(epoch:leader:)`` when another store leads, and nothing is deleted.
    package mutating func clean(
        on bucket: some Bucket, asOf now: Timestamp, noting failure: inout (any Error)?
    ) throws(ReplicationError) -> Step {
        guard var cleanup = cleanups.first, cleanup.due <= now else { return .nothing }
        var numbers: [UInt64]
        if let known = cleanup.numbers {
            numbers = known
        } else {
            // What is a fence is said by the pack. A fence that was put where a pack is already is none.
            let found: [Segment]?
            do throws(ReplicationError) {
                found = try Pack.segments(cleanup.range, on: bucket)
            } catch {
                // Its names stay: they may be what is left of it.
                cleanups.removeFirst()
                cleanup.retry(asOf: now)
                cleanups.append(cleanup)
                throw error
            }
            guard let segments = found else {
                cleanups.removeFirst()
                return .deletedSegments(0)
            }
            let fences = Set(segments.filter { $0.head.kind == .fence }.map(\.head.number))
            numbers = cleanup.listed.filter { !fences.contains($0) }
        }
        if !numbers.isEmpty { try Epochs.requireNewest(epoch, on: bucket) }
        let part = numbers.prefix(ReplicationLimits.namesPerStep)
        numbers.removeFirst(part.count)
        cleanup.numbers = numbers
        let deleted: Set<String>
        do throws(ReplicationError) {
            deleted = try Set(
                bucket.delete(part.map { [ShardNames.log($0)] }, noting: &failure))
        } catch {
            // Some that are never deleted keep none of the others.
            cleanup.left += part
            finish(cleanup, asOf: now)
            throw error
        }
        cleanup.left += part.filter { !deleted.contains(ShardNames.log($0)) }
        finish(cleanup, asOf: now)
        return .deletedSegments(deleted.count)
    }

    /// Puts the first cleanup, some of whose names were tried, where it belongs.
    private mutating func finish(_ cleanup: Cleanup, asOf now: Timestamp) {
        guard cleanup.numbers?.isEmpty != false else {
            cleanups[0] = cleanup
            return
        }
        cleanups.removeFirst()
        guard !cleanup.left.isEmpty else { return }
        var retried = Cleanup(range: cleanup.range, numbers: cleanup.left, due: now)
        retried.retry(asOf: now)
        cleanups.append(retried)
    }
}
