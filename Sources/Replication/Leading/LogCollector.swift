internal import BlobStore

/// Deletes the segments that every base is past, and leaves the fences: a leader that was paused before one must find
/// its next name taken, however late it wakes up.
///
/// Which names are fences is said by a LIST of 1,000 names: a fence has no batches, and what is longer than that is
/// none. What is as short is read, and left unless it is known to be something else. That costs an eightieth of a GET
/// for each name, and needs no record that a leader could lack.
///
/// What a base is past stays so, whoever leads, and a fence that comes under the name of a segment is none (``Fence``).
/// So it does no harm where two collect, or one is paused for however long in whatever step.
struct LogCollector {
    /// Names up to this one are to be deleted.
    private var end: UInt64 = 0
    /// Names up to this one were looked at.
    private var done: UInt64 = 0
    /// Names that were listed, and how far all are looked at after them.
    private var listed: ArraySlice<(number: UInt64, byteCount: Int)> = []
    private var listedEnd: UInt64 = 0
    /// Since when it waits before it deletes.
    private var pausedAt = Timestamp(milliseconds: 0)
    private var hasMissed = false
    /// Whether some could not be deleted. All are looked at again some time later.
    private(set) var hasUndeleted = false

    /// Deletes names up to this one, some minutes later: a follower that is a little behind needs no base.
    mutating func collect(upTo number: UInt64, asOf now: Timestamp) {
        guard number > end else { return }
        if done == end { pause(asOf: now) }
        end = number
    }

    private mutating func pause(asOf now: Timestamp) { pausedAt = now }

    /// A clock that was wrong and is set back makes it wait no longer.
    private func isPaused(asOf now: Timestamp) -> Bool {
        (now.milliseconds - pausedAt.milliseconds).magnitude
            < ReplicationLimits.collectGraceMilliseconds.magnitude
    }

    /// Looks at some names, and deletes those that are segments.
    ///
    /// - Parameter failure: see ``Bucket/delete(_:noting:)``. What is stepped over is tried again later.
    /// - Returns: how many were deleted; nil: there is nothing to do.
    mutating func step(
        on bucket: some Bucket, asOf now: Timestamp, noting failure: inout (any Error)?
    ) throws(ReplicationError) -> Int? {
        guard done < end, !isPaused(asOf: now) else { return nil }
        if listed.isEmpty {
            let page = try bucket.list(ShardNames.logPrefix, after: ShardNames.log(done))
            let all = page.objects.compactMap(\.inLog)
            listed = all.prefix { $0.number <= end }
            listedEnd = page.isLast ? end : min(all.last?.number ?? end, end)
        }
        let part = listed.prefix(ReplicationLimits.namesPerStep)
        // Some that are never deleted keep none of the others.
        listed = listed.dropFirst(part.count)
        done = listed.isEmpty ? listedEnd : part.last?.number ?? end
        defer { if done == end { finish(asOf: now) } }
        do throws(ReplicationError) {
            let names = try segments(of: part, on: bucket, noting: &failure)
            let count = try bucket.delete(names.map { [$0] }, noting: &failure).count
            if failure != nil { noteMissed() }
            return count
        } catch {
            noteMissed()
            throw error
        }
    }

    private func segments(
        of part: ArraySlice<(number: UInt64, byteCount: Int)>, on bucket: some Bucket,
        noting failure: inout (any Error)?
    ) throws(ReplicationError) -> [String] {
        var (names, failureCount) = ([String](), 0)
        for (number, byteCount) in part {
            do throws(ReplicationError) {
                if byteCount <= Segment.emptyByteCount {
                    guard let segment = try Segment.read(number, on: bucket),
                        segment.head.kind != .fence
                    else { continue }
                }
                names.append(ShardNames.log(number))
                failureCount = 0
            } catch {
                // It may be what is left of a fence.
                if case .damaged = error { continue }
                failureCount += 1
                guard error != .stopped, failureCount < ReplicationLimits.undeletedCountMax
                else { throw error }
                failure = failure ?? error
            }
        }
        return names
    }

    private mutating func noteMissed() { (hasMissed, hasUndeleted) = (true, true) }

    private mutating func finish(asOf now: Timestamp) {
        hasUndeleted = hasMissed
        guard hasMissed else { return }
        (hasMissed, done) = (false, 0)
        pause(asOf: now)
    }
}

extension ListPage.Object {
    /// The number of a name of the log, and its bytes; nil: it is another name.
    fileprivate var inLog: (number: UInt64, byteCount: Int)? {
        ShardNames.number(name, after: ShardNames.logPrefix).map { ($0, byteCount) }
    }
}
