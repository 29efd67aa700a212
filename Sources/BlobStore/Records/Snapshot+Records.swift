internal import Bytes
internal import LMDB

extension Snapshot {
    /// A copy of a notification's record. One B-tree lookup.
    public borrowing func record(
        for id: RawSpan, asOf now: Timestamp
    ) throws(StoreError) -> RecordLookup {
        try Rules.check(now: now)
        guard let value = try lookup(id) else { return .missing }
        let view = try RecordView(value)
        try view.check(id: id)
        guard view.expiresAt > now else { return .expired(at: view.expiresAt) }
        return .found(try view.record(id: id.text()))
    }

    /// Copies of the records after `id`, by the ids' bytes; expired ones are left out. A page has at most
    /// ``StoreLimits/pageByteCountMax`` stored bytes, and looks at ``StoreLimits/listEntriesLookedAtMax`` records.
    /// So it may have fewer than `limit` (1…1,000), or none, and yet not be the last: its `next` tells.
    public borrowing func records(
        after id: RawSpan, limit: Int, byteCountMax: Int = StoreLimits.pageByteCountMax,
        asOf now: Timestamp
    ) throws(StoreError) -> RecordPage {
        try Rules.check(now: now)
        try Rules.check(limit: limit)
        var page = RecordPage(records: [], next: nil)
        guard id.byteCount <= StoreLimits.idByteCountMax else { return page }
        var budget = PageBudget(
            countMax: limit, entryCountMax: StoreLimits.listEntriesLookedAtMax,
            byteCountMax: byteCountMax)
        var last = id.text()
        let isAll = try walk(tables.notifications, after: id) { (cursor) throws(StoreError) in
            guard !budget.isSpent else { return false }
            let byteCount = cursor.value.byteCount
            if let record = try cursor.liveRecord(asOf: now) {
                guard budget.take(byteCount) else { return false }
                page.records.append(record)
            }
            last = cursor.key.text()
            budget.read(byteCount)
            return true
        }
        if !isAll { page.next = last }
        return page
    }
}

extension TableCursor {
    /// A copy of the record the cursor stands at; nil when it has expired at `now`.
    fileprivate borrowing func liveRecord(asOf now: Timestamp) throws(StoreError) -> Record? {
        guard try RecordView(value).expiresAt > now else { return nil }
        return try record()
    }
}

/// A stretch of all notifications, by the bytes of their ids.
public struct RecordPage: Sendable {
    /// At most as many as were asked for.
    public var records: [Record]
    /// The id after which to continue; nil when there are no more.
    public var next: String?
}

/// What a lookup of a record found.
public enum RecordLookup: Sendable {
    /// A copy of it.
    case found(Record)
    /// It was there until this moment, and its space is not yet used again.
    case expired(at: Timestamp)
    /// There is none.
    case missing
}
