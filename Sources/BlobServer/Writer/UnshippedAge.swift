/// Tracks since when something has been missing in the bucket, by comparing the last batch with the last shipped one at
/// times (looks). When the last batch of a look is shipped, everything unshipped is younger than that look.
struct UnshippedAge {
    /// Looks whose last batch is not shipped, oldest first.
    private var looks: [(last: UInt64, at: Int64)] = []
    private var since: Int64 = 0
    private var isFirst = true

    /// A look is remembered when one such part of the age has passed, which bounds the error of the age.
    private static let ageParts: Int64 = 32

    /// A moment before which everything was shipped; 0: everything is. `initialAge`: of the oldest that is not, asked
    /// for at the first look.
    mutating func look(
        last: UInt64, shipped: UInt64, now: Int64, initialAge: () -> Int64 = { 0 }
    ) -> Int64 {
        defer { isFirst = false }
        guard last > shipped else {
            looks = []
            since = 0
            return since
        }
        if let reached = looks.lastIndex(where: { $0.last <= shipped }) {
            since = looks[reached].at
            looks.removeFirst(reached + 1)
        } else if since == 0 {
            since = isFirst ? now - initialAge() : now
        }
        let pause = (now - since) / Self.ageParts
        if looks.last.map({ $0.last < last && now - $0.at >= pause }) ?? true {
            looks.append((last, now))
        }
        return since
    }
}
