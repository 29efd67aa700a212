internal import Bytes
internal import LMDB

/// An entry of a page, in place (`MDB_node`).
struct PageEntry: ~Escapable {
    private let bytes: RawSpan
    private let isLeaf: Bool

    private static let headerByteCount = PageLayout.entryHeaderByteCount

    @_lifetime(copy bytes)
    init(_ bytes: RawSpan, isLeaf: Bool) {
        self.bytes = bytes
        self.isLeaf = isLeaf
    }

    private var flags: UInt16 { bytes.integer(4) }
    private var keyByteCount: Int { Int(bytes.integer(6, as: UInt16.self)) }

    var isTable: Bool { flags & PageLayout.isTable != 0 }

    var valueByteCount: Int { Int(bytes.integer(0, as: UInt32.self)) }

    var key: RawSpan {
        @_lifetime(copy self)
        get {
            bytes.extracting(Self.headerByteCount..<Self.headerByteCount + keyByteCount)
        }
    }

    /// Its value; empty where that has pages of its own.
    var value: RawSpan {
        @_lifetime(copy self)
        get {
            guard firstPage == nil else { return bytes.extracting(0..<0) }
            let start = Self.headerByteCount + keyByteCount
            return bytes.extracting(start..<start + valueByteCount)
        }
    }

    /// The first of the pages that its value has of its own; nil where it is in the leaf.
    var firstPage: UInt64? {
        guard isLeaf, flags & PageLayout.hasOwnPages != 0 else { return nil }
        return bytes.integer(Self.headerByteCount + keyByteCount)
    }

    /// Of a branch: the child.
    var child: UInt64 {
        UInt64(bytes.integer(0, as: UInt32.self)) | UInt64(flags) << 32
    }

    /// Where the entries of a page are, in the order of their keys.
    ///
    /// liblmdb puts each in front of the one that was put before it and closes every gap, so they fill the
    /// page's end: a length that is wrong makes them too many bytes, or too few. Throws
    /// ``StoreError/corrupt(_:)``, in words that follow the page's number.
    static func ranges(
        on bytes: RawSpan, page: UInt64, _ kind: PageFile.Kind
    ) throws(StoreError) -> [Range<Int>] {
        let header = PageLayout.headerByteCount
        guard bytes.integer(0, as: UInt64.self) == page,
            bytes.integer(PageLayout.flagsOffset) == kind.flags
        else { throw .corrupt("it is not a \(kind) page, or has another number") }
        let lower = Int(bytes.integer(PageLayout.lowerOffset, as: UInt16.self))
        let upper = Int(bytes.integer(PageLayout.upperOffset, as: UInt16.self))
        guard lower >= header, lower % 2 == 0, lower <= upper, upper <= bytes.byteCount else {
            throw .corrupt("its entries do not fit")
        }
        var ranges: [Range<Int>] = []
        var byteCount = 0
        for offset in stride(from: header, to: lower, by: 2) {
            let start = Int(bytes.integer(offset, as: UInt16.self))
            guard start >= upper, start % 2 == 0, start <= bytes.byteCount - headerByteCount,
                let count = Self.byteCount(bytes.extracting(start..<bytes.byteCount), kind)
            else { throw .corrupt("its entry \(ranges.count) is invalid") }
            ranges.append(start..<start + count)
            byteCount += count + count % 2
        }
        guard byteCount == bytes.byteCount - upper else {
            throw .corrupt(
                "its entries have \(byteCount) bytes; expected \(bytes.byteCount - upper)")
        }
        return ranges
    }

    /// The bytes of the entry that `bytes` begins with; nil when they are not there.
    private static func byteCount(_ bytes: RawSpan, _ kind: PageFile.Kind) -> Int? {
        let entry = PageEntry(bytes, isLeaf: kind == .leaf)
        var count = headerByteCount + entry.keyByteCount
        guard entry.keyByteCount <= StoreLimits.keyByteCountMax else { return nil }
        if kind == .leaf {
            guard entry.keyByteCount > 0,
                entry.flags == 0 || entry.flags == PageLayout.hasOwnPages
                    || entry.flags == PageLayout.isTable
            else { return nil }
            count += entry.flags == PageLayout.hasOwnPages ? 8 : entry.valueByteCount
        }
        return count <= bytes.byteCount ? count : nil
    }
}
