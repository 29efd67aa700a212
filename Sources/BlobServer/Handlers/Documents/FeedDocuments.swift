import BlobProtocol
import BlobStore
import Bytes

/// What became of a notification, or of a category, as an event's data and within a page of changes.
enum ChangeDocument {
    /// Appends `{"cursor","kind","id","revision"}`, and `"device"` and `"notification"` where there
    /// are any; of a category `{"cursor","kind","revision","category"}`.
    static func append(
        _ change: FeedChange, owner: String, store: StoreID, to out: inout [UInt8]
    ) {
        out.append("{\"cursor\":\"")
        change.cursor.append(owner: owner.utf8.span.bytes, store: store, to: &out)
        out.append("\",\"kind\":\"")
        out.append(text: change.kind.name)
        if change.kind != .category {
            out.append("\",\"id\":")
            JSONText.append(change.id, to: &out)
            out.append(",\"revision\":")
        } else {
            out.append("\",\"revision\":")
        }
        Decimal.append(change.revision, to: &out)
        if let device = change.device {
            out.append(",\"device\":")
            JSONText.append(device, to: &out)
        }
        if let record = change.record {
            out.append(",\"notification\":")
            RecordDocument.append(record, to: &out)
        }
        if change.kind == .category {
            out.append(",\"category\":")
            if let category = change.category {
                CategoryDocument.append(category, to: &out)
            } else {
                CategoryDocument.append(gone: change.id, app: change.app, to: &out)
            }
        }
        out.append("}")
    }
}

/// A stretch of an owner's feed.
enum ChangesDocument {
    /// Appends `{"changes":[…],"next":"…","more":…}`.
    static func append(_ page: FeedPage, owner: String, store: StoreID, to out: inout [UInt8]) {
        out.append("{\"changes\":[")
        for (index, change) in page.changes.enumerated() {
            if index > 0 { out.append(",") }
            ChangeDocument.append(change, owner: owner, store: store, to: &out)
        }
        out.append("],\"next\":\"")
        page.next.append(owner: owner.utf8.span.bytes, store: store, to: &out)
        out.append(page.hasMore ? "\",\"more\":true}" : "\",\"more\":false}")
    }
}

/// A stretch of an owner's history.
enum HistoryDocument {
    /// Appends `{"notifications":[…],"next":"…","cursor":"…"}`, with `null` for `next` at the end; `deleted` in place
    /// of `notifications` where these were asked for.
    static func append(
        _ page: HistoryPage, _ status: RecordFilter.Status, owner: String, store: StoreID,
        to out: inout [UInt8]
    ) {
        switch status {
        case .active:
            out.append("{\"notifications\":[")
            for (index, record) in page.records.enumerated() {
                if index > 0 { out.append(",") }
                RecordDocument.append(record, to: &out)
            }
        case .deleted:
            out.append("{\"deleted\":[")
            for (index, deleted) in page.deleted.enumerated() {
                if index > 0 { out.append(",") }
                append(deleted, to: &out)
            }
        }
        out.append("],\"next\":")
        if let next = page.next {
            out.append("\"")
            next.append(owner: owner.utf8.span.bytes, store: store, to: &out)
            out.append("\"")
        } else {
            out.append("null")
        }
        out.append(",\"cursor\":\"")
        page.cursor.append(owner: owner.utf8.span.bytes, store: store, to: &out)
        out.append("\"}")
    }

    /// Appends `{"id":"…","kind":"deleted","revision":…,"remembered_until":"…"}`, with `device` and `app` where there
    /// are any.
    private static func append(_ deleted: Tombstone, to out: inout [UInt8]) {
        out.append("{\"id\":")
        JSONText.append(deleted.id, to: &out)
        out.append(deleted.hasExpired ? ",\"kind\":\"expired\"" : ",\"kind\":\"deleted\"")
        out.append(",\"revision\":")
        Decimal.append(deleted.revision, to: &out)
        if let device = deleted.device {
            out.append(",\"device\":")
            JSONText.append(device, to: &out)
        }
        if let app = deleted.app {
            out.append(",\"app\":")
            JSONText.append(app, to: &out)
        }
        out.append(",\"remembered_until\":\"")
        RFC3339.append(deleted.rememberedUntil.milliseconds, to: &out)
        out.append("\"}")
    }
}
