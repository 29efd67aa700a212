import BlobProtocol
import BlobStore
import Bytes
import Notifications

enum PageDocument {
    /// Appends `{"notifications":[…],"next":…}`; `next` is `null` at the end.
    static func append(_ page: RecordPage, to out: inout [UInt8]) {
        out.object {
            $0.add("notifications", page.records, RecordDocument.append)
            $0.add("next", orNull: page.next)
        }
    }

    /// Appends `{"categories":[…]}`, with `"next"` if there are more.
    static func append(_ page: CategoryPage, to out: inout [UInt8]) {
        out.object {
            $0.add("categories", page.categories, CategoryDocument.append)
            $0.add("next", page.next)
        }
    }
}

enum ChangesDocument {
    /// Appends `{"changes":[…],"next":"…","more":…}`.
    static func append(_ page: FeedPage, owner: String, store: StoreID, to out: inout [UInt8]) {
        out.object {
            $0.add("changes", page.changes) { append($0, owner: owner, store: store, to: &$1) }
            $0.add("next", page.next, owner, store)
            $0.add("more", page.hasMore)
        }
    }

    /// Also the data of an event.
    static func append(
        _ change: FeedChange, owner: String, store: StoreID, to out: inout [UInt8]
    ) {
        out.object {
            $0.add("cursor", change.cursor, owner, store)
            $0.add("kind", change.kind.name)
            if change.kind != .category { $0.add("id", change.id) }
            $0.add("revision", change.revision)
            $0.add("device", change.device)
            if let record = change.record {
                $0.begin("notification")
                RecordDocument.append(record, to: &$0)
            }
            guard change.kind == .category else { return }
            $0.begin("category")
            if let category = change.category {
                CategoryDocument.append(category, to: &$0)
            } else {
                CategoryDocument.append(gone: change.id, app: change.app, to: &$0)
            }
        }
    }
}

enum HistoryDocument {
    /// Appends `{"notifications":[…],"next":"…","cursor":"…"}`, with `deleted` instead of `notifications` if requested.
    static func append(
        _ page: HistoryPage, _ status: RecordFilter.Status, owner: String, store: StoreID,
        to out: inout [UInt8]
    ) {
        out.object {
            switch status {
            case .active: $0.add("notifications", page.records, RecordDocument.append)
            case .deleted: $0.add("deleted", page.deleted, append)
            }
            if let next = page.next {
                $0.add(
                    "next",
                    quoted: {
                        next.append(owner: owner.utf8.span.bytes, store: store, to: &$0)
                    })
            } else {
                $0.add("next", orNull: nil)
            }
            $0.add("cursor", page.cursor, owner, store)
        }
    }

    /// `{"id":"…","kind":"deleted","revision":…,"device":"…","app":"…","remembered_until":"…"}`.
    private static func append(_ deleted: Tombstone, to out: inout [UInt8]) {
        out.object {
            $0.add("id", deleted.id)
            $0.add("kind", (deleted.hasExpired ? ChangeKind.expired : .deleted).name)
            $0.add("revision", deleted.revision)
            $0.add("device", deleted.device)
            $0.add("app", deleted.app)
            $0.add("remembered_until", deleted.rememberedUntil)
        }
    }
}

extension [UInt8] {
    fileprivate mutating func add(
        _ name: String, _ cursor: FeedCursor, _ owner: String, _ store: StoreID
    ) {
        add(name, quoted: { cursor.append(owner: owner.utf8.span.bytes, store: store, to: &$0) })
    }
}
