internal import CLMDB

/// Finds keys in the B-trees of `data.mdb`, in the map, as `mdb_get` does. That believes its pages: a wrong number
/// or place in one is a signal, or another key's value. And it costs three times as much. Here each page is asked
/// for its number and its kind, and each place is compared with its page.
@safe struct TreeSearch {
    let bounds: MapBounds

    /// The root of a table that is empty (`P_INVALID`).
    static let noPage = UInt64.max
    /// As many levels as a cursor of liblmdb has (`CURSOR_STACK`).
    private static let depthMax = 32

    /// An entry of a leaf: where it begins, and how many bytes its page has from there on.
    @safe private struct Entry {
        let start: UnsafeRawPointer
        let byteCount: Int
    }

    /// The value of `key` in the table that begins at page `root`; nil when it is not there. Returns bytes
    /// inside of pages in use. Throws ``LMDBError/isCorruption``.
    @inline(never)
    func value(of key: RawSpan, root: UInt64) throws(LMDBError) -> MDB_val? {
        guard let entry = try entry(of: key, root: root) else { return nil }
        let size = unsafe UInt(entry.start.loadUnaligned(as: UInt32.self))
        let flags = unsafe entry.start.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
        let place = valueOffset(entry)
        if flags == 0 {
            guard place &+ Int(size) <= entry.byteCount else { throw .outOfBounds(Self.name) }
            return unsafe MDB_val(
                mv_size: Int(size), mv_data: UnsafeMutableRawPointer(mutating: entry.start + place))
        }
        guard flags == PageLayout.hasOwnPages, place &+ 8 <= entry.byteCount else {
            throw .outOfBounds(Self.name)
        }
        let first = unsafe entry.start.loadUnaligned(fromByteOffset: place, as: UInt64.self)
        guard
            let page = unsafe bounds.page(first, atLeast: UInt(PageLayout.headerByteCount) &+ size)
        else { throw .outOfBounds(Self.name) }
        return unsafe MDB_val(
            mv_size: Int(size),
            mv_data: UnsafeMutableRawPointer(mutating: page + PageLayout.headerByteCount))
    }

    /// The root of the table of that name; nil where it is not a table as ours are. `main`: the root of the
    /// main table.
    @inline(never)
    func root(of name: StaticString, main: UInt64) throws(LMDBError) -> UInt64? {
        let bytes = unsafe RawSpan(
            _unsafeStart: UnsafeRawPointer(name.utf8Start), byteCount: name.utf8CodeUnitCount)
        guard let entry = try entry(of: bytes, root: main) else { return nil }
        let size = unsafe entry.start.loadUnaligned(as: UInt32.self)
        let flags = unsafe entry.start.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
        let place = valueOffset(entry)
        guard flags == PageLayout.isTable, size == PageLayout.tableByteCount,
            place &+ PageLayout.tableByteCount <= entry.byteCount
        else { return nil }
        let table = unsafe entry.start + place
        // Keys in another order, or more values than one: not of ours.
        guard unsafe table.loadUnaligned(fromByteOffset: 4, as: UInt16.self) == 0 else {
            return nil
        }
        return unsafe table.loadUnaligned(fromByteOffset: PageLayout.rootOffset, as: UInt64.self)
    }

    private static let name: StaticString = "mdb_get"

    /// Where the value of an entry begins, or the number of its first page.
    @inline(__always)
    private func valueOffset(_ entry: Entry) -> Int {
        let key = unsafe entry.start.loadUnaligned(fromByteOffset: 6, as: UInt16.self)
        return PageLayout.entryHeaderByteCount &+ Int(key)
    }

    @inline(__always)
    private func entry(of key: RawSpan, root: UInt64) throws(LMDBError) -> Entry? {
        guard root != Self.noPage else { return nil }
        let byteCount = bounds.pageByteCount
        var number = root
        for _ in 0..<Self.depthMax {
            guard let page = unsafe bounds.page(number, atLeast: UInt(byteCount)),
                unsafe page.loadUnaligned(as: UInt64.self) == number
            else { throw .outOfBounds(Self.name) }
            let flags = unsafe page.loadUnaligned(
                fromByteOffset: PageLayout.flagsOffset, as: UInt16.self)
            let end = unsafe Int(page.loadUnaligned(fromByteOffset: 12, as: UInt16.self))
            guard end >= PageLayout.headerByteCount, end <= byteCount else {
                throw .outOfBounds(Self.name)
            }
            let places = unsafe Places(start: page, end: end, byteCount: byteCount)
            if flags & PageLayout.kinds == PageLayout.leaf {
                var low = 0
                var high = places.count
                while low < high {
                    let middle = (low &+ high) >> 1
                    let place = try places.place(middle)
                    let order = unsafe order(key, page + place)
                    if order == 0 {
                        return unsafe Entry(start: page + place, byteCount: byteCount &- place)
                    }
                    if order < 0 { high = middle } else { low = middle &+ 1 }
                }
                return nil
            }
            guard flags & PageLayout.kinds == PageLayout.branch, places.count > 0 else {
                throw .outOfBounds(Self.name)
            }
            // The first child has what is before the second key, whatever its own key says.
            var low = 1
            var high = places.count
            while low < high {
                let middle = (low &+ high) >> 1
                let place = try places.place(middle)
                if unsafe order(key, page + place) < 0 { high = middle } else { low = middle &+ 1 }
            }
            let child = unsafe page + (try places.place(low &- 1))
            let upper = unsafe child.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
            number = unsafe UInt64(child.loadUnaligned(as: UInt32.self)) | UInt64(upper) << 32
        }
        throw .outOfBounds(Self.name)
    }

    /// Where the entries of a page begin.
    @safe private struct Places {
        let start: UnsafeRawPointer
        /// The end of the places.
        let end: Int
        let byteCount: Int

        var count: Int { (end &- PageLayout.headerByteCount) >> 1 }

        /// The place of entry `index`, which is less than ``count``: after all places, with a
        /// header and a key inside of the page.
        @inline(__always)
        func place(_ index: Int) throws(LMDBError) -> Int {
            let offset = PageLayout.headerByteCount &+ index &* 2
            let place = unsafe Int(start.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
            guard place >= end, place &+ PageLayout.entryHeaderByteCount <= byteCount else {
                throw .outOfBounds(TreeSearch.name)
            }
            let key = unsafe start.loadUnaligned(fromByteOffset: place &+ 6, as: UInt16.self)
            guard place &+ PageLayout.entryHeaderByteCount &+ Int(key) <= byteCount else {
                throw .outOfBounds(TreeSearch.name)
            }
            return place
        }
    }

    /// Less than 0 when `key` comes before the key of an entry, 0 when it is the same (`mdb_cmp_memn`).
    /// `entry`: its key is inside of its page.
    @inline(__always)
    private func order(_ key: RawSpan, _ entry: UnsafeRawPointer) -> Int {
        let otherCount = unsafe Int(entry.loadUnaligned(fromByteOffset: 6, as: UInt16.self))
        let other = unsafe entry + PageLayout.entryHeaderByteCount
        let count = min(key.byteCount, otherCount)
        // Every load is of bytes inside of both.
        return unsafe key.withUnsafeBytes { bytes in
            guard let key = bytes.baseAddress else { return -otherCount }
            var index = 0
            while index &+ 8 <= count {
                let (left, right) = unsafe (word(key, index), word(other, index))
                if left != right { return left < right ? -1 : 1 }
                index &+= 8
            }
            if index < count {
                if count >= 8 {
                    // The last eight, of which some are known to be the same.
                    let (left, right) = unsafe (word(key, count &- 8), word(other, count &- 8))
                    if left != right { return left < right ? -1 : 1 }
                } else {
                    while index < count {
                        let left = unsafe key.load(fromByteOffset: index, as: UInt8.self)
                        let right = unsafe other.load(fromByteOffset: index, as: UInt8.self)
                        if left != right { return left < right ? -1 : 1 }
                        index &+= 1
                    }
                }
            }
            return bytes.count &- otherCount
        }
    }

    /// Eight bytes in the order of keys.
    @inline(__always)
    private func word(_ bytes: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}
