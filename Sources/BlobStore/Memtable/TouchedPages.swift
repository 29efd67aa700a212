internal import Bytes

/// Where in the tree's tables a page is counted already: it is copied once for all entries of a commit that come into
/// it. Keys that have no other one between them in the tree come into the same pages, or into new ones. So the gaps
/// are remembered that keys came into last; those that rise, as times and numbers do, all come into one. Of keys that
/// are there, the pages themselves are remembered, most of them.
struct TouchedPages {
    /// What keys of a kind, which lie together, came into last.
    private struct Gap {
        var isKnown = false
        /// The key before it; nil: the keys begin with it.
        var lower: MemtableKey?
        /// The key after it; nil: the keys end with it.
        var upper: MemtableKey?
        /// Keys that came into it earn lookups of other gaps.
        var credit = creditMax
        var misses = 0
    }

    enum Answer {
        /// The page of the key is counted.
        case counted
        /// It is not, and its gap is to be noted (``note(after:before:kind:)``).
        case lookUp
        /// It is not, and a lookup is not worth while: keys of this kind come anywhere.
        case uncounted
    }

    private static let creditMax = 32
    private static let lookupCost = 4
    /// Of keys that come anywhere, one of so many is looked up all the same.
    private static let lookupInterval = 64

    private static let pageCount = 512

    private var gaps = InlineArray<16, Gap>(repeating: Gap())
    /// Pages that are counted, each in its place by its number; 0: none.
    private var pages: [UInt] = []

    /// - Parameter kind: of the key, from 0 to 15: those of a kind lie together.
    mutating func find(_ key: RawSpan, kind: Int) -> Answer {
        if contains(key, kind) {
            gaps[kind].credit = min(gaps[kind].credit + 1, Self.creditMax)
            return .counted
        }
        gaps[kind].misses += 1
        guard gaps[kind].credit < Self.lookupCost else {
            gaps[kind].credit -= Self.lookupCost
            return .lookUp
        }
        return gaps[kind].misses.isMultiple(of: Self.lookupInterval) ? .lookUp : .uncounted
    }

    @inline(__always)
    private func contains(_ key: RawSpan, _ kind: Int) -> Bool {
        guard gaps[kind].isKnown else { return false }
        if let lower = gaps[kind].lower, lower.key.order(to: key) >= 0 { return false }
        if let upper = gaps[kind].upper, key.order(to: upper.key) >= 0 { return false }
        return true
    }

    /// Notes the gap that a key is in, whose pages are counted now.
    mutating func note(after lower: MemtableKey?, before upper: MemtableKey?, kind: Int) {
        gaps[kind].isKnown = true
        (gaps[kind].lower, gaps[kind].upper) = (lower, upper)
    }

    /// Notes a page that a key is on. Returns whether it is counted already.
    mutating func insert(page: UInt) -> Bool {
        if pages.isEmpty { pages = [UInt](repeating: 0, count: Self.pageCount) }
        let index = Int(page % UInt(Self.pageCount))
        defer { pages[index] = page }
        return pages[index] == page
    }

    /// What was counted is taken back, perhaps.
    mutating func forget() {
        for kind in gaps.indices { gaps[kind].isKnown = false }
        pages = []
    }
}
