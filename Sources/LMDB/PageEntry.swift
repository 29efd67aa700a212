internal import Bytes

/// What is wrong with a page, in words that follow its number.
package struct PageFault: Error, CustomStringConvertible {
    package let description: String

    init(_ words: String) { description = "corrupt: \(words)" }
}

/// An entry of a page, in place (`MDB_node`).
package struct PageEntry: ~Escapable {
    private let bytes: RawSpan
    private let isLeaf: Bool

    private static let headerByteCount = PageLayout.entryHeaderByteCount

    @_lifetime(copy bytes)
    package init(_ bytes: RawSpan, isLeaf: Bool) {
        self.bytes = bytes
        self.isLeaf = isLeaf
    }

    private var flags: UInt16 { bytes.integer(4) }
    private var keyByteCount: Int { Int(bytes.integer(6, as: UInt16.self)) }

    package var isTable: Bool { flags & PageLayout.isTable != 0 }

    package var valueByteCount: Int { Int(bytes.integer(0, as: UInt32.self)) }

    package var key: RawSpan {
        @_lifetime(copy self)
        get {
            bytes.extracting(Self.headerByteCount..<Self.headerByteCount + keyByteCount)
        }
    }

    /// Its value; empty where that has pages of its own.
    package var value: RawSpan {
        @_lifetime(copy self)
        get {
            guard firstPage == nil else { return bytes.extracting(0..<0) }
            let start = Self.headerByteCount + keyByteCount
            return bytes.extracting(start..<start + valueByteCount)
        }
    }

    /// The first of the pages that its value has of its own; nil where it is in the leaf.
    package var firstPage: UInt64? {
        guard isLeaf, flags & PageLayout.hasOwnPages != 0 else { return nil }
        return bytes.integer(Self.headerByteCount + keyByteCount)
    }

    /// Of a branch: the child.
    package var child: UInt64 {
        UInt64(bytes.integer(0, as: UInt32.self)) | UInt64(flags) << 32
    }

    /// Where the entries of a page are, in the order of their keys.
    ///
    /// liblmdb puts each in front of the one that was put before it and closes every gap, so they fill the
    /// page's end: a length that is wrong makes them too many bytes, or too few.
    package static func ranges(
        on bytes: RawSpan, page: UInt64, isLeaf: Bool
    ) throws(PageFault) -> [Range<Int>] {
        let header = PageLayout.headerByteCount
        guard bytes.integer(0, as: UInt64.self) == page,
            bytes.integer(PageLayout.flagsOffset) == (isLeaf ? PageLayout.leaf : PageLayout.branch)
        else {
            throw PageFault(
                "it is not a \(isLeaf ? "leaf" : "branch") page, or has another number")
        }
        let lower = Int(bytes.integer(PageLayout.lowerOffset, as: UInt16.self))
        let upper = Int(bytes.integer(PageLayout.upperOffset, as: UInt16.self))
        guard lower >= header, lower % 2 == 0, lower <= upper, upper <= bytes.byteCount else {
            throw PageFault("its entries do not fit")
        }
        var ranges: [Range<Int>] = []
        var byteCount = 0
        for offset in stride(from: header, to: lower, by: 2) {
            let start = Int(bytes.integer(offset, as: UInt16.self))
            guard start >= upper, start % 2 == 0, start <= bytes.byteCount - headerByteCount,
                let count = Self.byteCount(bytes.extracting(start..<bytes.byteCount), isLeaf)
            else { throw PageFault("its entry \(ranges.count) is invalid") }
            ranges.append(start..<start + count)
            byteCount += count + count % 2
        }
        guard byteCount == bytes.byteCount - upper else {
            throw PageFault(
                "its entries have \(byteCount) bytes; expected \(bytes.byteCount - upper)")
        }
        return ranges
    }

    /// The bytes of the entry that `bytes` begins with; nil when they are not there.
    private static func byteCount(_ bytes: RawSpan, _ isLeaf: Bool) -> Int? {
        let entry = PageEntry(bytes, isLeaf: isLeaf)
        var count = headerByteCount + entry.keyByteCount
        guard entry.keyByteCount <= PageLayout.keyByteCountMax else { return nil }
        if isLeaf {
            guard entry.keyByteCount > 0,
                entry.flags == 0 || entry.flags == PageLayout.hasOwnPages
                    || entry.flags == PageLayout.isTable
            else { return nil }
            count += entry.flags == PageLayout.hasOwnPages ? 8 : entry.valueByteCount
        }
        return count <= bytes.byteCount ? count : nil
    }
}
