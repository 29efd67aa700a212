import Glibc
import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Every key and value of a store, but who it is and in which transactions blobs became orphans:
/// what two stores have in common that did the same.
struct StoreContents: Equatable {
    /// By the table's name, keys and values alternating.
    var entries: [String: [[UInt8]]] = [:]
    var counters = Counters()

    /// Without what is freed at one time or another.
    var withoutOrphans: StoreContents {
        var copy = self
        copy.entries["chunks"] = nil
        copy.entries["orphans"] = nil
        copy.counters.orphanBlobs = 0
        copy.counters.orphanBytes = 0
        return copy
    }

    /// The entries of a table, each its key and its value.
    func pairs(of table: String) -> Set<[[UInt8]]> {
        let flat = entries[table] ?? []
        return Set(stride(from: 0, to: flat.count, by: 2).map { Array(flat[$0..<$0 + 2]) })
    }

    /// The tables in which `other` differs; nothing when it is the same.
    func difference(from other: StoreContents) -> [String] {
        var names = entries.keys.filter { entries[$0] != other.entries[$0] }.sorted()
        if counters != other.counters { names.append("\(counters) / \(other.counters)") }
        return names
    }
}

extension BlobStore {
    /// What is committed.
    func contents() throws -> StoreContents {
        var contents = StoreContents()
        do {
            let transaction = try core.environment.readers.begin()
            let named = [
                ("notifications", core.tables.notifications), ("blobs", core.tables.blobs),
                ("chunks", core.tables.chunks), ("index", core.tables.index),
                ("orphans", core.tables.orphans),
            ]
            for (name, table) in named {
                var entries: [[UInt8]] = []
                var cursor = try transaction.cursor(in: table)
                var isThere = try cursor.first()
                while isThere {
                    entries.append(cursor.key.withUnsafeBytes { Array($0) })
                    if table == core.tables.orphans {
                        let entry = try cursor.state().1
                        entries.append(Array("\(entry.digest) \(entry.state)".utf8))
                    } else {
                        entries.append(cursor.value.withUnsafeBytes { Array($0) })
                    }
                    isThere = try cursor.next()
                }
                contents.entries[name] = entries
            }
        }
        contents.counters = try counters()
        return contents
    }

    func mayBeUnsettled(_ id: String) -> Bool {
        pendingKeys.mayContain(Array(id.utf8).span.bytes)
    }
}

extension TemporaryFolder {
    /// The files as a kill at this moment would leave them.
    func copy(withMarks: Bool = false) throws -> TemporaryFolder {
        let copy = TemporaryFolder()
        let names = ["data.mdb", "changes.log"] + (withMarks ? ["changes.pending"] : [])
        for name in names where Files.exists("\(path)/\(name)") {
            // By a process of its own, since closing a file of an open store drops its locks.
            let status = try Child.run("/bin/cp", ["\(path)/\(name)", "\(copy.path)/\(name)"]).1
            #expect(status == .exited(0))
        }
        return copy
    }

    /// Opens a copy of the files, with what is in the log.
    func withCopy<Result>(_ body: (BlobStore) throws -> Result) throws -> Result {
        let copy = try copy()
        return try body(try copy.open())
    }

    func openLogging(
        _ change: (inout BlobStore.Options) -> Void = { _ in }
    ) throws -> BlobStore {
        let store = try open(change)
        try store.beginLogging()
        return store
    }
}

/// Random batches of every kind of change, which can be made for several stores.
struct LogPlay {
    typealias Making = (BlobStore) throws -> Change

    var generator: SeededGenerator
    var now = noon

    /// A small pool of contents, so that they are shared; some have two chunks.
    static let contents: [[UInt8]] = (0..<30).map { kind in
        (0..<(kind < 24 ? kind * 61 : kind * 3_300)).map {
            UInt8(truncatingIfNeeded: $0 &* 31 &+ kind &* 7 &+ $0 >> 8)
        }
    }

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
    private mutating func id() -> String { "id-\(below(20))" }
    private mutating func owner() -> String? { [nil, "anna", "ben", "zoë"][below(4)] }

    /// A few changes, and the ids they name.
    mutating func batch() -> (changes: [Making], ids: [String]) {
        var changes: [Making] = []
        var ids: [String] = []
        for _ in 0...below(6) {
            let (id, change) = change()
            changes.append(change)
            if let id { ids.append(id) }
        }
        return (changes, ids)
    }

    private mutating func change() -> (String?, Making) {
        switch below(100) {
        case 0..<25: publication()
        case 25..<45: draft()
        case 45..<58: patch()
        case 58..<68: removal()
        case 68..<78: response()
        case 78..<88: hold()
        default: category()
        }
    }

    private mutating func expiry() -> Expiry {
        let moment = now.adding(seconds: Int64(1 + below(900)))
        return chance(30) ? .keep(otherwise: moment) : .at(moment)
    }

    private mutating func publication() -> (String?, Making) {
        let id = chance(8) ? nil : id()
        let part = ["payload", "icon", "sound"][below(3)]
        let (kind, owner, expiry) = (below(30), owner(), expiry())
        // Of a type that is not compressed: whether it is depends on what the last commit has.
        return (
            id,
            { store in
                .publish(
                    try store.publication(
                        id, Self.contents[kind], part: part, owner: owner, expiry: expiry))
            }
        )
    }

    private mutating func draft() -> (String?, Making) {
        let id = chance(5) ? nil : id()
        let (owner, expiry, group) = (owner(), expiry(), "g\(below(3))")
        let category = chance(30) ? "news" : nil
        let condition: Condition = [.none, .none, .none, .absent, .exists][below(5)]
        let kinds = (0..<below(4)).map { _ in (below(30), chance(40)) }
        return (
            id,
            { store in
                var draft = NotificationDraft(id: id, expiry: expiry)
                draft.owner = owner
                draft.message = "m"
                draft.details.group = group
                draft.details.category = category
                draft.condition = condition
                for (place, (kind, isStored)) in kinds.enumerated() {
                    let payload = try store.prepare(
                        Self.contents[kind], mediaType: "image/png")
                    draft.parts.append(
                        DraftPart(
                            name: "part-\(place)", mediaType: "image/png",
                            content: isStored ? .stored(payload.digest) : .payload(payload)))
                }
                return .publishNotification(draft)
            }
        )
    }

    private mutating func patch() -> (String?, Making) {
        var patch = NotificationPatch(id: id())
        patch.isRead = .set(chance(50))
        if chance(30) { patch.group = .set("g\(below(3))") }
        if chance(20) { patch.expiresAt = .set(now.adding(seconds: Int64(1 + below(900)))) }
        if chance(20) { patch.message = .set(String(repeating: "m", count: below(4_000))) }
        if chance(20) { patch.category = .set("news") }
        if chance(10) { patch.condition = .revisions([UInt64(below(60))]) }
        let made = patch
        return (patch.id, { _ in .patch(made) })
    }

    private mutating func removal() -> (String?, Making) {
        let id = id()
        if chance(50) { return (id, { _ in .delete(id: id) }) }
        let condition: Condition = chance(30) ? .revisions([UInt64(below(60))]) : .none
        return (id, { _ in .remove(Removal(id: id, device: "phone", condition: condition)) })
    }

    private mutating func response() -> (String?, Making) {
        let response = ActionResponse(
            id: id(), action: ["default", "dismiss", "other"][below(3)],
            key: chance(50) ? "k\(below(4))" : nil)
        return (response.id, { _ in .respond(response) })
    }

    private mutating func hold() -> (String?, Making) {
        let (kind, until) = (below(30), now.adding(seconds: Int64(1 + below(400))))
        return (
            nil,
            { store in
                .hold(
                    BlobHold(
                        try store.prepare(Self.contents[kind], mediaType: "image/png"),
                        until: until))
            }
        )
    }

    private mutating func category() -> (String?, Making) {
        let name = ["news", "mail"][below(2)]
        guard chance(70) else { return (nil, { _ in .removeCategory(name: name) }) }
        let actions = (0..<below(4)).map { NotificationAction(identifier: "a\($0)", title: "A") }
        return (nil, { _ in .setCategory(Category(name: name, actions: actions)) })
    }
}

extension Outcome {
    /// What it says, for a comparison.
    var words: String {
        switch self {
        case .published(_, let created): "published \(created)"
        case .deleted: "deleted"
        case .changed: "changed"
        case .unchanged: "unchanged"
        case .held(let blob, let created): "held \(blob) \(created)"
        case .categorySet(let category, let created): "category \(category) \(created)"
        case .notFound: "not found"
        case .refused(let error): "refused \(error)"
        }
    }
}
