import Bytes
import LMDB

@testable import BlobStore

/// What the index has of one owner, read key by key.
struct OwnerIndex: Equatable {
    /// By revision.
    var entries: [UInt64: SequenceEntry] = [:]
    /// The places in the history of a group's members.
    var groups: [String: [UInt64]] = [:]
    var finderCount = 0
    var mark: PurgeMarker?

    /// Its ids in the order of the history, oldest first.
    var history: [String] {
        entries.sorted { $0.key < $1.key }.filter { $0.value.indexes.contains(.history) }
            .map { $0.value.id }
    }

    /// The same of its feed; what is gone has a minus sign before it.
    var feed: [String] {
        entries.sorted { $0.key < $1.key }.filter { $0.value.indexes.contains(.feed) }
            .map { ($0.value.kind == .live ? "" : "-") + $0.value.id }
    }
}

extension BlobStore {
    /// Gives an owner entries that have only those places, of a notification that is not there; the
    /// store's revision is then the last of theirs.
    func addPlaces(
        _ places: SequenceEntry.Indexes, of owner: String, at revisions: ClosedRange<UInt64>
    ) throws {
        try pipeline.change(asOf: noon, isPublishing: true) { (transaction) throws(StoreError) in
            for revision in revisions {
                let key = IndexKeys.sequence(owner, revision)
                let entry = SequenceEntry(places, id: "x").bytes(key: key)
                try transaction.transaction.set(
                    key.span.bytes, to: entry.span.bytes, in: core.tables.index)
            }
            transaction.counters.revision = revisions.upperBound
        }
    }

    func ownerIndex(_ owner: String) throws -> OwnerIndex {
        var index = OwnerIndex()
        for (key, value) in try entries(of: core.tables.index)
        where key.first == IndexKeys.ownersPrefix {
            switch try OwnerKey(key.span.bytes) {
            case .sequence(owner, let revision):
                index.entries[revision] = try SequenceEntry(value.span.bytes, key: key.span.bytes)
            case .group(owner, let group, let sequence):
                index.groups[group, default: []].append(sequence)
            case .finder(owner, _): index.finderCount += 1
            case .mark(owner): index.mark = try PurgeMarker(value.span.bytes, key: key.span.bytes)
            default: break
            }
        }
        return index
    }

    /// What ends when, in that order.
    func timeEntries() throws -> [TimeEntry] {
        var times: [TimeEntry] = []
        for (key, _) in try entries(of: core.tables.index) {
            guard let time = try TimeEntry(key.span.bytes) else { break }
            times.append(time)
        }
        return times
    }

    /// The number of the last commit.
    func lastTransaction() throws -> UInt64 {
        try withSnapshot { (snapshot) throws(StoreError) in snapshot.transaction.id }
    }

    /// Applies changes as the daemon does: without telling owners of categories' edits.
    func apply(
        _ changes: [Change], asOf now: Timestamp, freeing byteCountMax: Int = 0, isCommitting: Bool
    ) throws -> [Outcome] {
        let outcomes = try apply(
            checked: changes.map { try CheckedChange($0, asOf: now) }, asOf: now,
            freeing: byteCountMax)
        if isCommitting { try commitPending() }
        return outcomes
    }

    /// Applies one change.
    func apply(_ change: Change, asOf now: Timestamp = noon) throws -> Outcome {
        try apply([change], asOf: now)[0]
    }

    /// Stores a notification of text alone.
    @discardableResult
    func publish(
        _ id: String, owner: String?, group: String? = nil, seconds: Int64 = 3_600,
        asOf now: Timestamp = noon, _ change: (inout NotificationDraft) -> Void = { _ in }
    ) throws -> Record {
        let change = Change.notification(
            id, owner: owner, group: group, end: now.adding(seconds: seconds), change)
        guard let record = try apply(change, asOf: now).record else { throw NothingThrown() }
        return record
    }

    /// Applies a patch.
    func patch(
        _ id: String, asOf now: Timestamp = noon, _ change: (inout NotificationPatch) -> Void
    ) throws -> Outcome {
        var patch = NotificationPatch(id: id)
        change(&patch)
        return try apply(.patch(patch), asOf: now)
    }
}

extension Change {
    /// A whole notification; one that says nothing says "Hello".
    static func notification(
        _ id: String, owner: String? = nil, group: String? = nil,
        end: Timestamp = noon.adding(seconds: 3_600),
        _ change: (inout NotificationDraft) -> Void = { _ in }
    ) -> Change {
        var draft = NotificationDraft(id: id, expiry: .at(end))
        draft.owner = owner
        draft.details.group = group
        change(&draft)
        let details = draft.details
        if draft.parts.isEmpty, draft.message == nil, details.title == nil, details.data == nil {
            draft.message = "Hello"
        }
        return .publishNotification(draft)
    }
}

extension Outcome {
    var isUnchanged: Bool { if case .unchanged = self { true } else { false } }
    var isNotFound: Bool { if case .notFound = self { true } else { false } }
    var field: InvalidInput.Field? { error?.field }
}
