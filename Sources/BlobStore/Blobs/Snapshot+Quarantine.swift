internal import Bytes
internal import LMDB

extension Snapshot {
    /// A blob that gave way to another, while parts refer to it.
    borrowing func quarantineEntry(_ number: UInt64) throws(StoreError) -> QuarantineEntry? {
        let key = IndexKeys.quarantine(number)
        guard let value = try transaction.view.get(key.span.bytes, in: store.tables.index) else {
            return nil
        }
        return try QuarantineEntry(value, key: key.span.bytes)
    }

    /// Notifications behind an id that refer to one of some blobs.
    ///
    /// - Parameter matchCountMax: at most so many.
    /// - Returns: their ids, and the last id that was looked at; nil: there are no more.
    borrowing func ids(
        after id: [UInt8], referringTo numbers: Set<UInt64>, countMax: Int, matchCountMax: Int = 64
    ) throws(StoreError) -> (ids: [String], last: [UInt8]?) {
        var ids: [String] = []
        var cursor = try transaction.cursor(in: store.tables.notifications)
        // The next key in order: keys have no byte 00.
        var isThere = try id.isEmpty ? cursor.first() : cursor.seek((id + [0]).span.bytes)
        var count = 0
        var last: [UInt8] = []
        while isThere {
            guard count < countMax, ids.count < matchCountMax else { return (ids, last) }
            if (try? Self.refers(RecordView(cursor.value), to: numbers)) == true {
                ids.append(cursor.key.text())
            }
            last = cursor.key.array()
            count += 1
            isThere = try cursor.next()
        }
        return (ids, nil)
    }

    private static func refers(
        _ record: RecordView, to numbers: Set<UInt64>
    ) throws(StoreError) -> Bool {
        for index in 0..<record.partCount
        where numbers.contains(try record.part(at: index).blob().number) {
            return true
        }
        return false
    }
}
