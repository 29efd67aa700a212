internal import Bytes
internal import LMDB

/// One owner's entries in the index, and the records they name, as both are read for a page. Records are found by a
/// cursor rather than by lookups: those are remembered, and a page would push out what is being fetched.
struct OwnerWalk: ~Copyable, ~Escapable {
    private var entries: TableCursor
    private var records: TableCursor
    private let prefix: [UInt8]

    /// Bytes of a revision at a key's end.
    private static let numberByteCount = 8

    /// - Parameter prefix: of keys that end with a revision or a sequence.
    @_lifetime(borrow snapshot)
    init(_ snapshot: borrowing Snapshot, prefix: [UInt8]) throws(StoreError) {
        let entries = try snapshot.cursor(in: snapshot.tables.index)
        let records = try snapshot.cursor(in: snapshot.tables.notifications)
        self.entries = entries
        self.records = records
        self.prefix = prefix
    }

    /// Moves to the first entry whose number is `number` or more. Returns false when there is none.
    @_lifetime(self: copy self)
    mutating func seek(_ number: UInt64) throws(StoreError) -> Bool {
        try entries.seek(key(number).span.bytes) && isAtOwner
    }

    /// Moves to the last entry whose number is less than `number`. Returns false when there is none.
    @_lifetime(self: copy self)
    mutating func seek(below number: UInt64) throws(StoreError) -> Bool {
        let isBehind = try entries.seek(key(number).span.bytes)
        return try entries.go(isBehind ? .previous : .last) && isAtOwner
    }

    @_lifetime(self: copy self)
    mutating func next() throws(StoreError) -> Bool { try entries.go(.next) && isAtOwner }

    @_lifetime(self: copy self)
    mutating func previous() throws(StoreError) -> Bool { try entries.go(.previous) && isAtOwner }

    var number: UInt64 { UInt64(bigEndian: entries.key.word(prefix.count)) }

    borrowing func entry() throws(StoreError) -> SequenceEntry {
        try SequenceEntry(entries.value, key: entries.key)
    }

    /// A copy of the record of `id`, expired or not, and how many bytes it is stored in; nil when
    /// there is none.
    @_lifetime(self: copy self)
    mutating func record(_ id: String) throws(StoreError) -> (record: Record, byteCount: Int)? {
        let id = id.utf8.span.bytes
        guard try records.find(id) else { return nil }
        return (try records.record(), records.value.byteCount)
    }

    private var isAtOwner: Bool {
        let key = entries.key
        return key.byteCount == prefix.count + Self.numberByteCount
            && key.extracting(first: prefix.count).equals(prefix.span.bytes)
    }

    private func key(_ number: UInt64) -> [UInt8] {
        var key = prefix
        key.append(bigEndian: number)
        return key
    }
}
