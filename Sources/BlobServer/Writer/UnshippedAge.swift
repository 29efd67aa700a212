/// Since when something has not been in the bucket, found by looking at the last batch and the last one that was
/// shipped now and then.
///
/// Under constant changes there is always a batch that is not shipped yet, so a moment at which all are is
/// not waited for. What was the last batch at one look is the mark of it: when that is shipped, all that is not
/// is younger than that look.
struct UnshippedAge {
    /// The last batch at the marked look.
    private var mark: UInt64 = 0
    private var markedAt: Int64 = 0
    private var since: Int64 = 0

    /// - Parameter now: by a clock that never goes back.
    /// - Returns: a moment before which nothing was done that is not shipped: at most the time that shipping
    ///   takes before the first of it; 0: all is shipped.
    mutating func look(last: UInt64, shipped: UInt64, now: Int64) -> Int64 {
        if last <= shipped {
            since = 0
        } else if since == 0 || shipped >= mark {
            since = since == 0 ? now : markedAt
            (mark, markedAt) = (last, now)
        }
        return since
    }
}
