/// Since when something has not been in the bucket, found by looking at the last batch and the last one that was
/// shipped now and then.
///
/// Under constant changes there is always a batch that is not shipped yet, so a moment at which all are is
/// not waited for. When the last batch of a look is shipped, all that is not is younger than that look.
struct UnshippedAge {
    /// Looks whose last batch was not shipped, oldest first.
    private var looks: [(last: UInt64, at: Int64)] = []
    private var since: Int64 = 0

    /// A look is remembered when so many parts of the age have passed since the last one that is: so some
    /// hundreds are, however long nothing moves, and the age is wrong by such a part.
    private static let ageParts: Int64 = 32

    /// - Parameter now: by a clock that never goes back.
    /// - Returns: a moment before which nothing was done that is not shipped: the last one of which that is known;
    ///   0: all is shipped.
    mutating func look(last: UInt64, shipped: UInt64, now: Int64) -> Int64 {
        guard last > shipped else {
            looks = []
            since = 0
            return since
        }
        if let reached = looks.lastIndex(where: { $0.last <= shipped }) {
            since = looks[reached].at
            looks.removeFirst(reached + 1)
        } else if since == 0 {
            since = now
        }
        let pause = (now - since) / Self.ageParts
        if looks.last.map({ $0.last < last && now - $0.at >= pause }) ?? true {
            looks.append((last, now))
        }
        return since
    }
}
