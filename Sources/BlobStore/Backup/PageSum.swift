/// About how many bytes entries take in the pages of a file, where each is put after the one before it.
struct PageSum {
    private static let pageByteCount = 4_096
    private static let headByteCount = 16
    /// LMDB's head of an entry, its pointer to it, and a byte that makes it even.
    private static let entryHeadByteCount = 11

    private var leafByteCount = 0
    private var longPageCount = 0

    mutating func add(_ keyByteCount: Int, _ valueByteCount: Int) {
        let room = Self.pageByteCount - Self.headByteCount
        var entry = Self.entryHeadByteCount + keyByteCount + valueByteCount
        if entry > room / 2 {
            // It has pages of its own, and an entry that says where.
            longPageCount +=
                (Self.headByteCount + valueByteCount + Self.pageByteCount - 1)
                / Self.pageByteCount
            entry = Self.entryHeadByteCount + keyByteCount + 8
        }
        leafByteCount += entry
    }

    /// With what the ends of pages leave unused, and branches.
    var byteCount: Int {
        longPageCount * Self.pageByteCount + leafByteCount + leafByteCount / 4
    }
}
