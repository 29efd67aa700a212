internal import BlobStore

/// How a leader reads its own log, and finds out what of it the bucket has lost.
extension BucketMaintenance {
    mutating func checkLog(
        upTo position: LogPosition, on bucket: some Bucket
    ) throws(ReplicationError) -> Step? {
        do throws(ReplicationError) {
            let count = try check.step(upTo: position, on: bucket)
            return count == 0 ? nil : .read(count)
        } catch {
            switch error {
            case .damaged, .forked, .bucket:
                // It may have been collected, and nobody who begins with that base needs it.
                guard let base = catalog.bases.last?.position, base.number >= check.next else {
                    break
                }
                check.skip(to: base)
                return nil
            default: break
            }
            guard let number = try lostSegment(error, on: bucket) else { throw error }
            return .lostSegment(number)
        }
    }

    /// Finds out whether a segment that cannot be read is lost: the bucket said several times that it is missing, and
    /// lists later ones, or gave something else, or does not give it while it gives others. This store has all that it
    /// had: with a base after it neither a follower nor a restore needs it, but for a restore to a moment before that base.
    private mutating func lostSegment(
        _ error: ReplicationError, on bucket: some Bucket
    ) throws(ReplicationError) -> UInt64? {
        let number = check.next
        let name = ShardNames.log(number)
        var lookCount = ReplicationLimits.lostSegmentLookCount
        var isUnreadable = false
        switch error {
        case .damaged(name, _), .forked(number): break
        case .bucket(_, isLasting: false) where check.isUnreadable:
            isUnreadable = true
            lookCount = ReplicationLimits.unreadableSegmentLookCount
        default: return nil
        }
        missing = (number, missing.number == number ? missing.lookCount + 1 : 1)
        guard missing.lookCount >= lookCount else { return nil }
        if isUnreadable {
            _ = try StoreDocument.read(on: bucket)
            // A bucket that was away may be back since the look before that.
            do throws(ReplicationError) {
                if try check.canRead(number, on: bucket) { return nil }
            } catch {
                guard case .bucket(_, isLasting: false) = error else { throw error }
            }
        } else {
            let listed = try bucket.list(ShardNames.logPrefix, after: ShardNames.log(number - 1))
            guard let first = listed.objects.first?.name else { return nil }
            if first == name, try check.canRead(number, on: bucket) { return nil }
        }
        check.skip(number)
        isBaseDue = (catalog.bases.last?.position.number ?? 0) < number
        return number
    }
}
