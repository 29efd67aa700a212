/// How many names of the log a reader asks for together: more while all of them are there, and as many as were there
/// otherwise, so that a reader that is close behind a quick writer asks for few that are not.
struct ReadAhead {
    /// How many segments were found since there was none.
    private var foundCount = 0
    private var width = 1
    /// Whether all that were asked for last were there.
    private var isFull = false
    /// The longest of those that were read last.
    private var byteCount = 0

    /// Whether there was one segment after another, and the end was not met: their reader is behind.
    var isBehind: Bool { isFull && foundCount > 1 }

    /// How many are asked for next. One that comes alone costs no more than the look for the next.
    var count: Int {
        let fitting = ReplicationLimits.readAheadByteCount / max(byteCount, 1)
        return max(1, min(width, fitting))
    }

    /// Notes what was found of so many.
    mutating func note(_ found: some Collection<Segment>, of asked: Int) {
        foundCount = found.isEmpty ? 0 : foundCount + found.count
        byteCount = found.map(\.bytes.count).max() ?? byteCount
        isFull = found.count >= asked
        width = isFull ? min(2 * asked, foundCount) : found.count
        width = max(1, min(width, ReplicationLimits.readAheadCountMax))
    }
}
