internal import Bytes
internal import LMDB

// Reading ahead. A walk follows the numbers that pages say, one page after the other. A disk reads many
// pages at once in about the time of one, so the kernel is asked for all children of a branch before the
// first of them is read.

extension PageWalk {
    /// Asks the kernel for the children of a branch; those that lie side by side at once.
    func prepareChildren(_ entries: [Range<Int>], on bytes: RawSpan) {
        var run: Range<UInt64> = 0..<0
        for range in entries {
            let child = PageEntry(bytes.extracting(range), isLeaf: false).child
            guard child <= meta.lastPage else { continue }
            if child != run.upperBound {
                if !run.isEmpty { file.prepare(pages: run) }
                run = child..<child
            }
            run = run.lowerBound..<child + 1
        }
        if !run.isEmpty { file.prepare(pages: run) }
    }

    /// The buffer of a level, a page long. Who takes it puts it back.
    mutating func takeBuffer(_ level: Int) -> [UInt8] {
        while buffers.count <= level {
            buffers.append([UInt8](repeating: 0, count: file.pageByteCount))
        }
        var bytes: [UInt8] = []
        swap(&bytes, &buffers[level])
        return bytes
    }
}

// The free list, as the walk reads it.

extension PageWalk {
    /// The bytes of an entry's value; empty when they cannot be read.
    func value(of entry: PageEntry, on page: UInt64) -> [UInt8] {
        guard let long = entry.firstPage else { return entry.value.array() }
        var bytes = [UInt8](
            repeating: 0, count: PageLayout.headerByteCount + entry.valueByteCount)
        return file.read(page: long, into: &bytes)
            ? Array(bytes[PageLayout.headerByteCount...]) : []
    }

    /// The pages that an entry of the free list names (`MDB_IDL`): how many, then their numbers,
    /// the highest first.
    mutating func freePages(
        _ value: [UInt8], _ key: RawSpan, _ page: UInt64
    ) -> [(UInt64, UInt64)] {
        let bytes = value.span.bytes
        guard key.byteCount == 8, bytes.byteCount >= 8,
            bytes.integer(0, as: UInt64.self) <= UInt64(bytes.byteCount / 8 - 1)
        else {
            report.add("page \(page): an entry of the free list is not a list of pages")
            return []
        }
        let transaction: UInt64 = key.integer(0)
        if transaction > meta.transaction {
            report.add(
                "page \(page): the free list has the future transaction \(transaction)")
        }
        var pages: [(UInt64, UInt64)] = []
        var before = UInt64.max
        for index in 0..<Int(bytes.integer(0, as: UInt64.self)) {
            let free: UInt64 = bytes.integer(8 + 8 * index)
            guard free >= 2, free <= meta.lastPage, free < before else {
                report.add("page \(page): the free list has the invalid page \(free)")
                return pages
            }
            before = free
            pages.append((transaction, free))
        }
        return pages
    }
}

/// A tree, and what was found of it so far.
struct WalkedTree {
    let name: String
    let tree: PageFile.Tree
    let hasNumberKeys: Bool
    /// Whether its leaves are read, and the headers of the pages that long values have.
    var readsLeaves = true
    var readsLongValues = true
    var branchCount: UInt64 = 0
    var leafCount: UInt64 = 0
    var overflowCount: UInt64 = 0
    var entryCount: UInt64 = 0
    /// What comes now must have a key after this one, or this one.
    var floor: [UInt8] = []
    var mayBeFloor = true

    init(_ name: String, _ tree: PageFile.Tree, hasNumberKeys: Bool = false) {
        self.name = name
        self.tree = tree
        self.hasNumberKeys = hasNumberKeys
    }

    func mayHave(_ key: RawSpan) -> Bool {
        let floor = floor.span.bytes
        return floor.isEmpty || mayHave(key, after: floor, orSame: mayBeFloor)
    }

    /// Whether a key is after another one. `orSame`: whether it may be that one.
    func mayHave(_ key: RawSpan, after other: RawSpan, orSame: Bool) -> Bool {
        guard !hasNumberKeys || (key.byteCount == 8 && other.byteCount == 8) else { return false }
        let order =
            hasNumberKeys
            ? key.integer(0, as: UInt64.self).order(to: other.integer(0)) : key.order(to: other)
        return order > 0 || (order == 0 && orSame)
    }
}

extension UInt64 {
    fileprivate func order(to other: UInt64) -> Int { self < other ? -1 : self > other ? 1 : 0 }
}
