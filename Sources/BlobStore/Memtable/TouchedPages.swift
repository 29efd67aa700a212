internal import Bytes

/// Which places in the tree's tables have their page counted already: a page is copied once for all entries of a commit
/// that come into it. Keys that have no other one between them in the tree come into the same page, or into new ones.
/// So the gaps are remembered that keys came into last; those that rise, as times and numbers do, all go into one.
struct TouchedPages {
    /// Keys of a table that begin with the same byte, most often.
    private struct Place {
        var table: UInt8 = 0
        /// The key before the gap; nil: the table begins with the gap.
        var lower: [UInt8]?
        /// The key after it; nil: the table ends with it.
        var upper: [UInt8]?
        var isKnown = false
        /// Keys that came since one was found in the gap.
        var misses = 0

        func contains(_ key: RawSpan, in table: UInt8) -> Bool {
            guard isKnown, table == self.table else { return false }
            if let lower, lower.span.bytes.order(to: key) >= 0 { return false }
            if let upper, key.order(to: upper.span.bytes) >= 0 { return false }
            return true
        }
    }

    enum Answer {
        /// The page of the key is counted.
        case counted
        /// It is not, and its gap is to be noted (``note(_:_:_:in:)``).
        case lookUp
        /// It is not, and a lookup is not worth while: keys of its kind come anywhere.
        case uncounted
    }

    private static let placeCount = 16
    private static let missesMax = 8
    /// Of keys that come anywhere, one of so many is looked up all the same.
    private static let lookupInterval = 64

    private var places = [Place](repeating: Place(), count: placeCount)

    private static func index(_ key: RawSpan, _ table: UInt8) -> Int {
        (Int(table) &* 5 &+ Int(key.byte(0))) % placeCount
    }

    mutating func find(_ key: RawSpan, in table: UInt8) -> Answer {
        let index = Self.index(key, table)
        if places[index].contains(key, in: table) {
            places[index].misses = 0
            return .counted
        }
        places[index].misses += 1
        let misses = places[index].misses
        return misses <= Self.missesMax || misses.isMultiple(of: Self.lookupInterval)
            ? .lookUp : .uncounted
    }

    /// Notes the gap that a key is in, whose pages are counted now.
    mutating func note(
        _ key: RawSpan, after lower: [UInt8]?, before upper: [UInt8]?, in table: UInt8
    ) {
        let index = Self.index(key, table)
        let misses = places[index].misses
        places[index] = Place(
            table: table, lower: lower, upper: upper, isKnown: true, misses: misses)
    }

    /// What was counted is taken back, perhaps.
    mutating func forget() { for index in places.indices { places[index].isKnown = false } }
}
