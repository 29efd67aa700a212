internal import Bytes

/// Where in the tree's tables a page is counted already: it is copied once for all entries of a commit that come into
/// it. Keys that have no other one between them in the tree come into the same pages, or into new ones. So the gaps
/// are remembered that keys came into last; those that rise, as times and numbers do, all come into one.
struct TouchedPages {
    /// Keys of a table that begin with the same byte, most often.
    private struct Place {
        var table: UInt8 = 0
        var isKnown = false
        /// Lookups that keys found in the gap have earned.
        var credit = creditMax
        var misses = 0
        /// The key before the gap; nil: the table begins with it.
        var lower: MemtableKey?
        /// The key after it; nil: the table ends with it.
        var upper: MemtableKey?
    }

    enum Answer {
        /// The page of the key is counted.
        case counted
        /// It is not, and its gap is to be noted (``note(_:after:before:in:)``).
        case lookUp
        /// It is not, and a lookup is not worth while: keys of its kind come anywhere.
        case uncounted
    }

    private static let placeCount = 16
    private static let creditMax = 32
    private static let lookupCost = 4
    /// Of keys that come anywhere, one of so many is looked up all the same.
    private static let lookupInterval = 64

    private var places = InlineArray<16, Place>(repeating: Place())

    private static func index(_ key: RawSpan, _ table: UInt8) -> Int {
        (Int(table) &* 5 &+ Int(key.byte(0))) % placeCount
    }

    mutating func find(_ key: RawSpan, in table: UInt8) -> Answer {
        let index = Self.index(key, table)
        if contains(key, table, index) {
            places[index].credit = min(places[index].credit + 1, Self.creditMax)
            return .counted
        }
        places[index].misses += 1
        guard places[index].credit < Self.lookupCost else {
            places[index].credit -= Self.lookupCost
            return .lookUp
        }
        return places[index].misses.isMultiple(of: Self.lookupInterval) ? .lookUp : .uncounted
    }

    @inline(__always)
    private func contains(_ key: RawSpan, _ table: UInt8, _ index: Int) -> Bool {
        guard places[index].isKnown, places[index].table == table else { return false }
        if let lower = places[index].lower, lower.key.order(to: key) >= 0 { return false }
        if let upper = places[index].upper, key.order(to: upper.key) >= 0 { return false }
        return true
    }

    /// Notes the gap that a key is in, whose pages are counted now.
    mutating func note(
        _ key: RawSpan, after lower: MemtableKey?, before upper: MemtableKey?, in table: UInt8
    ) {
        let index = Self.index(key, table)
        places[index].table = table
        (places[index].lower, places[index].upper) = (lower, upper)
        places[index].isKnown = true
    }

    /// What was counted is taken back, perhaps.
    mutating func forget() { for index in places.indices { places[index].isKnown = false } }
}
