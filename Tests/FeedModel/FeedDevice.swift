import BlobStore

/// A device that keeps a copy of its owner's notifications, or of those that match a filter, by
/// reading the feed.
struct FeedDevice {
    let owner: String
    let filter: RecordFilter
    /// Where it goes on; nil: it begins anew.
    var cursor: FeedCursor?
    /// By id: the revision and what it was told.
    var replica: [String: Record] = [:]
    /// Since it began anew.
    private var lastRevision: UInt64 = 0

    init(owner: String, _ filter: RecordFilter) {
        self.owner = owner
        self.filter = filter
    }

    /// Reads one page and holds it against the model.
    ///
    /// - Returns: whether there is more.
    mutating func read(
        _ model: FeedModel, in store: BlobStore, limit: Int, fromHistory: Bool
    ) throws -> Bool {
        let start: FeedStart
        if let cursor {
            start = .after(cursor)
        } else if fromHistory {
            try readHistory(model, in: store, limit: limit)
            return true
        } else {
            replica = [:]
            lastRevision = 0
            start = .beginning
        }
        let position = cursor?.position ?? 0
        let base = cursor.map(\.base) ?? model.revision
        let place = "\(owner) \(filter) at \(position), base \(base)"
        let forgotten = model.forgotten(owner)
        guard let page = try page(from: start, limit: limit, in: store) else {
            try expect(
                max(position, base) < forgotten,
                "\(place), must not begin anew: \(forgotten) is forgotten")
            cursor = nil
            return true
        }
        try expect(
            max(position, base) >= forgotten,
            "\(place), must begin anew: \(forgotten) is forgotten")
        try take(page, model, position: position, base: base, limit: limit)
        return page.hasMore
    }

    /// Nil when it must begin anew.
    private func page(
        from start: FeedStart, limit: Int, in store: BlobStore
    ) throws(StoreError) -> FeedPage? {
        let bytes = Array(owner.utf8)
        do throws(StoreError) {
            return try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.changes(
                    of: bytes.span.bytes, from: start, limit: limit, matching: filter)
            }
        } catch {
            if case .resync = error { return nil }
            throw error
        }
    }

    private mutating func take(
        _ page: FeedPage, _ model: FeedModel, position: UInt64, base: UInt64, limit: Int
    ) throws {
        try expect(page.revision == model.revision, "the snapshot is at \(page.revision)")
        try expect(page.changes.count <= limit, "\(page.changes.count) changes of \(limit)")
        try expect(
            page.next.position >= position && page.next.position <= model.revision,
            "next is \(page.next.position) behind \(position)")
        let wanted = (model.latest[owner] ?? [:]).filter { name, entry in
            entry.revision > position && entry.revision <= page.next.position
                && isTold(name, entry, model, base: base)
        }.sorted { $0.value.revision < $1.value.revision }
        try expect(
            wanted.map(\.key.id) == page.changes.map(\.id),
            "\(owner) \(filter) behind \(position) up to \(page.next.position), base \(base): \(page.changes.map(\.id)) instead of \(wanted.map(\.key.id))"
        )
        let rest = (model.latest[owner] ?? [:]).contains { name, entry in
            entry.revision > page.next.position && isTold(name, entry, model, base: base)
        }
        try expect(page.hasMore || !rest, "\(owner): there is more behind \(page.next.position)")
        for (change, entry) in zip(page.changes, wanted) {
            try expect(
                change.revision == entry.value.revision && change.revision > lastRevision,
                "\(change.id) at \(change.revision) instead of \(entry.value.revision), behind \(lastRevision)"
            )
            lastRevision = change.revision
            try expect(change.device == entry.value.device, "\(change.id): the device")
            if let gone = entry.value.gone {
                try expect(
                    change.kind == gone && change.record == nil,
                    "\(change.id) is \(change.kind) instead of \(gone)")
                replica[change.id] = nil
            } else {
                guard let item = model.items[change.id] else {
                    throw FeedModelError("\(change.id) is not there")
                }
                guard item.matches(filter) else {
                    try expect(
                        change.kind == .left && change.record == nil,
                        "\(change.id) is \(change.kind) instead of left")
                    replica[change.id] = nil
                    continue
                }
                guard let record = change.record else {
                    throw FeedModelError("\(change.id) has no record")
                }
                try item.check(record, change.id)
                let kind: FeedChange.Kind =
                    item.revision == item.sequence ? .published : .updated
                try expect(change.kind == kind, "\(change.id) is \(change.kind)")
                replica[change.id] = record
            }
        }
        cursor = page.next
    }

    /// Whether a reader that began at `base` is told of that, as a change or as left.
    private func isTold(
        _ name: FeedModel.Name, _ entry: FeedModel.Latest, _ model: FeedModel, base: UInt64
    ) -> Bool {
        guard filter.app == nil || filter.app == name.app else { return false }
        if entry.revision > base { return true }
        return entry.gone == nil && model.items[name.id]?.matches(filter) == true
    }

    /// Begins with the history, and goes on behind its first page.
    private mutating func readHistory(
        _ model: FeedModel, in store: BlobStore, limit: Int
    ) throws {
        let bytes = Array(owner.utf8)
        replica = [:]
        var query = HistoryQuery()
        query.limit = limit
        query.filter = filter
        var sequences: [UInt64] = []
        while true {
            let wanted = query
            let page = try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.history(of: bytes.span.bytes, wanted, asOf: model.now)
            }
            if query.before == nil {
                cursor = page.cursor
                lastRevision = page.cursor.position
            }
            for record in page.records {
                guard let item = model.live(record.id) else {
                    throw FeedModelError("\(record.id) is in the history of \(owner)")
                }
                try item.check(record, record.id)
                replica[record.id] = record
                sequences.append(record.sequence)
            }
            guard let next = page.next else { break }
            query.before = next
        }
        let wanted = model.ids(of: owner).compactMap { model.live($0) }
            .filter { $0.matches(filter) }.map(\.sequence)
        try expect(
            sequences == wanted.sorted(by: >),
            "the history of \(owner) is \(sequences) instead of \(wanted.sorted(by: >))")
    }

    /// Throws unless the copy is what of the owner's matches. Nothing may have expired.
    func checkWhole(_ model: FeedModel) throws {
        let ids = model.ids(of: owner).filter { model.items[$0]?.matches(filter) == true }
        try expect(
            Set(replica.keys) == ids,
            "\(owner)'s copy of \(filter) has \(replica.keys.sorted()) instead of \(ids.sorted())")
        for (id, record) in replica { try model.items[id]?.check(record, id) }
    }
}
