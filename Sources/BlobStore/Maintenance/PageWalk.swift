internal import Bytes
internal import LMDB
internal import Glibc

/// A walk over the pages of all trees of `data.mdb`, and over the free list: that each page is what its number and
/// its parent say, that its entries are inside of it and in order, and that no page has two uses. It remembers a
/// bit a page. Of long values only the header of the first page is read: checksums are of their bytes.
struct PageWalk: ~Copyable {
    let file: PageFile
    let meta: PageFile.Meta
    private let extent: Extent
    /// Told the number of each page before it is read.
    private let willRead: (UInt64) -> Void
    /// Pages that have a use.
    private var used: PageSet
    var report = VerifyReport()
    /// A page for each level, so that none is allocated for each page.
    var buffers: [[UInt8]] = []

    static let depthMax = 32
    /// The flags of the free list's tree (`MDB_INTEGERKEY`).
    private static let numberKeys: UInt16 = 8

    enum Extent {
        case all
        /// What may be walked at each start: the main table, the free list and the branches of all tables, and
        /// their leaves where there are at most so many. Of long values nothing is read.
        case start(leafCountMax: UInt64)
    }

    /// Walks pages as of one commit, whose pages must not be used again meanwhile.
    static func report(
        on file: PageFile, asOf meta: PageFile.Meta, _ extent: Extent = .all,
        willRead: @escaping (UInt64) -> Void = { _ in }
    ) -> VerifyReport {
        var status = stat()
        guard fstat(file.descriptor, &status) == 0, meta.usedByteCount <= Int(status.st_size) else {
            var report = VerifyReport()
            report.add(
                "the meta page's last page is \(meta.lastPage), but the file is shorter")
            return report
        }
        var walk = PageWalk(file, meta, extent, willRead)
        walk.walkAll()
        return walk.report
    }

    private init(
        _ file: PageFile, _ meta: PageFile.Meta, _ extent: Extent,
        _ willRead: @escaping (UInt64) -> Void
    ) {
        self.file = file
        self.meta = meta
        self.extent = extent
        self.willRead = willRead
        used = PageSet(count: Int(meta.lastPage) + 1)
    }

    private mutating func walkAll() {
        _ = used.insert(0)
        _ = used.insert(1)
        var free: [(transaction: UInt64, page: UInt64)] = []
        var list = WalkedTree("the free list", meta.freeList, hasNumberKeys: true)
        walk(&list) { (walk, page, entry) in
            if entry.isTable {
                walk.report.add("page \(page): an entry of the free list is a table")
            }
            free += walk.freePages(walk.value(of: entry, on: page), entry.key, page)
        }
        var tables: [WalkedTree] = []
        var main = WalkedTree("the main table", meta.main)
        walk(&main) { (walk, page, entry) in
            let name = entry.key.text()
            guard entry.isTable, entry.value.byteCount == PageLayout.tableByteCount else {
                walk.report.add("page \(page): entry \(name) of the main table is not a table")
                return
            }
            tables.append(WalkedTree("table \(name)", PageFile.Tree(entry.value)))
        }
        if case .start(let leafCountMax) = extent {
            var leafCount: UInt64 = 0
            for table in tables { leafCount &+= min(table.tree.leafCount, 1 << 48) }
            for index in tables.indices {
                tables[index].readsLeaves = leafCount <= leafCountMax
                tables[index].readsLongValues = false
            }
        }
        for index in tables.indices {
            let name = tables[index].name
            // The bytes of chunks are many, and a fetch of them is refused on its own.
            let readsValues = tables[index].readsLongValues && name != "table chunks"
            walk(&tables[index]) { (walk, page, entry) in
                if entry.isTable {
                    walk.report.add("page \(page): an entry of \(name) is a table")
                }
                if readsValues, let first = entry.firstPage,
                    walk.value(of: entry, on: page).isEmpty
                {
                    walk.report.add("page \(first): of \(name) cannot be read")
                }
            }
        }
        // Last, so that the page that is in a tree is not the one that is named.
        for (transaction, page) in free where !used.insert(page) {
            report.add(
                "page \(page): is free since transaction \(transaction), and in use or free twice")
        }
    }

    // MARK: Trees

    private typealias Body = (inout PageWalk, UInt64, borrowing PageEntry) -> Void

    private mutating func walk(_ walked: inout WalkedTree, _ body: Body) {
        let tree = walked.tree
        guard (tree.root == PageFile.Tree.noRoot) == (tree.depth == 0),
            tree.depth <= Self.depthMax,
            tree.flags == (walked.hasNumberKeys ? Self.numberKeys : 0)
        else {
            report.add("the root of \(walked.name) is invalid")
            return
        }
        let before = report.problemCount
        if tree.depth > 0 { visit(tree.root, level: 1, &walked, body) }
        // What is below a damaged page is not counted.
        guard report.problemCount == before else { return }
        var pairs = [
            ("branch pages", tree.branchCount, walked.branchCount),
            ("leaf pages", tree.leafCount, walked.leafCount),
        ]
        if walked.readsLeaves { pairs.append(("entries", tree.entryCount, walked.entryCount)) }
        if walked.readsLongValues {
            pairs.append(("pages of long values", tree.overflowCount, walked.overflowCount))
        }
        for (what, said, counted) in pairs where said != counted {
            report.add("\(walked.name) should have \(said) \(what); counted: \(counted)")
        }
    }

    private mutating func visit(
        _ page: UInt64, level: Int, _ walked: inout WalkedTree, _ body: Body
    ) {
        guard page >= 2, page <= meta.lastPage else {
            report.add("\(walked.name) refers to page \(page); the last one is \(meta.lastPage)")
            return
        }
        guard used.insert(page) else {
            report.add("page \(page): is in \(walked.name), and in use elsewhere")
            return
        }
        if level == walked.tree.depth, !walked.readsLeaves {
            walked.leafCount += 1
            return
        }
        willRead(page)
        var bytes = takeBuffer(level)
        defer { buffers[level] = bytes }
        guard file.read(page: page, into: &bytes) else {
            report.add("page \(page): of \(walked.name) cannot be read")
            return
        }
        let isLeaf = level == walked.tree.depth
        let entries: [Range<Int>]
        do throws(PageFault) {
            entries = try PageEntry.ranges(on: bytes.span.bytes, page: page, isLeaf: isLeaf)
        } catch {
            report.add("page \(page): of \(walked.name): \(error)")
            return
        }
        if isLeaf { walked.leafCount += 1 } else { walked.branchCount += 1 }
        if !isLeaf, level < walked.tree.depth - 1 || walked.readsLeaves {
            prepareChildren(entries, on: bytes.span.bytes)
        }
        // Where nothing below is read, a key is compared with the one before it on the page.
        let isLowest = isLeaf || (level == walked.tree.depth - 1 && !walked.readsLeaves)
        var last: Range<Int>?
        for (index, range) in entries.enumerated() {
            let entry = PageEntry(bytes.span.bytes.extracting(range), isLeaf: isLeaf)
            // Nobody looks at the key of a branch's first child.
            if isLeaf || index > 0 {
                let isInOrder: Bool
                if let last {
                    let other = PageEntry(bytes.span.bytes.extracting(last), isLeaf: isLeaf).key
                    isInOrder = walked.mayHave(entry.key, after: other, orSame: !isLeaf)
                } else {
                    isInOrder = walked.mayHave(entry.key)
                }
                guard isInOrder else {
                    report.add("page \(page): the keys of \(walked.name) are not in order")
                    return
                }
                if isLowest, index < entries.count - 1 {
                    last = range
                } else {
                    walked.floor = entry.key.array()
                    walked.mayBeFloor = !isLeaf
                }
            }
            if isLeaf {
                walked.entryCount += 1
                guard visitLongValue(of: entry, on: page, &walked) else { continue }
                body(&self, page, entry)
            } else {
                visit(entry.child, level: level + 1, &walked, body)
            }
        }
    }

    /// How many pages the long value has that begins there; nil when none does.
    private func longValuePageCount(_ first: UInt64) -> UInt64? {
        var header = [UInt8](repeating: 0, count: PageLayout.headerByteCount)
        guard file.read(page: first, into: &header) else { return nil }
        let bytes = header.span.bytes
        guard bytes.integer(0, as: UInt64.self) == first,
            bytes.integer(PageLayout.flagsOffset) == PageLayout.overflow
        else { return nil }
        return UInt64(bytes.integer(PageLayout.pageCountOffset, as: UInt32.self))
    }

    /// Notes the pages that a value has of its own, if it has. Returns false when they make no sense.
    private mutating func visitLongValue(
        of entry: borrowing PageEntry, on page: UInt64, _ walked: inout WalkedTree
    ) -> Bool {
        guard let first = entry.firstPage else { return true }
        let wanted =
            (PageLayout.headerByteCount + entry.valueByteCount + file.pageByteCount - 1)
            / file.pageByteCount
        var count = UInt64(wanted)
        guard first >= 2, first <= meta.lastPage, count <= meta.lastPage - first + 1 else {
            report.add("page \(page): a long value of \(walked.name) is at page \(first)")
            return false
        }
        if walked.readsLongValues {
            willRead(first)
            guard let said = longValuePageCount(first), said >= count,
                said <= meta.lastPage - first + 1
            else {
                report.add(
                    "page \(first): does not have the \(wanted) pages of a value of \(walked.name)")
                return false
            }
            count = said
        }
        for number in first..<first + count where !used.insert(number) {
            report.add("page \(number): is of a value of \(walked.name), and in use elsewhere")
            return false
        }
        walked.overflowCount += count
        return true
    }
}

private struct PageSet {
    private var words: [UInt64]

    init(count: Int) { words = [UInt64](repeating: 0, count: (count + 63) / 64) }

    /// - Returns: false when it is there already.
    mutating func insert(_ page: UInt64) -> Bool {
        let index = Int(page / 64)
        let bit: UInt64 = 1 << (page % 64)
        defer { words[index] |= bit }
        return words[index] & bit == 0
    }
}
