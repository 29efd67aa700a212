internal import Bytes
internal import LMDB

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
