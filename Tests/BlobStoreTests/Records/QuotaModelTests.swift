import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Random changes under quotas, against a model that knows all that is there: what fits is never
/// refused, and what does not is, also after a kill.
@Suite struct QuotaModelTests {
    @Test("What fits is stored, and nothing else", arguments: [UInt64(5), 6, 7, 8])
    func model(seed: UInt64) throws {
        var run = try Run(seed)
        for step in 0..<300 { try run.step("seed \(seed), step \(step)") }
        try run.end("seed \(seed)")
    }

    private struct Item: Equatable {
        var owner: String?
        var parts: [String: Int]
        var expiresAt: Timestamp
        var byteCount: Int { parts.values.reduce(0) { $0 + QuotaModelTests.contents[$1].count } }
    }

    /// Of the numbers 0 to 11: so many bytes each.
    fileprivate static let contents: [[UInt8]] = (0..<12).map {
        QuotaTests.bytes($0 * 300, UInt8($0 + 1))
    }

    private struct Run {
        var folder = TemporaryFolder()
        var store: BlobStore?
        var generator: SeededGenerator
        var now = noon
        var items: [String: Item] = [:]
        var held: [Int: Timestamp] = [:]
        var quotas = Quotas()

        init(_ seed: UInt64) throws {
            generator = SeededGenerator(seed: seed)
            store = try folder.openLogging()
            changeQuotas()
        }

        mutating func changeQuotas() {
            quotas.byteCountMax = [0, 3_000, 9_000, 15_000].randomElement(using: &generator)!
            quotas.notificationCountMax = [0, 5, 12].randomElement(using: &generator)!
            quotas.ownerByteCountMax = [0, 2_000, 8_000].randomElement(using: &generator)!
            quotas.ownerNotificationCountMax = [0, 2, 5].randomElement(using: &generator)!
            store?.setQuotas(quotas)
        }

        mutating func step(_ place: String) throws {
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<75: try batch(place)
            case 75..<80: changeQuotas()
            case 80..<88: try store?.commitPending()
            case 88..<94: try restart(place)
            default:
                now = now.adding(seconds: .random(in: 1...40, using: &generator))
                _ = try store?.sweepExpired(asOf: now, limit: 1_000)
                items = items.filter { $0.value.expiresAt > now }
                held = held.filter { $0.value > now }
            }
        }

        /// Some changes at once, each of which is decided with those before it.
        mutating func batch(_ place: String) throws {
            let store = try #require(store)
            var changes: [Change] = []
            var expected: [Bool] = []
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let id = "n\(Int.random(in: 0..<15, using: &generator))"
                let owner = [nil, "anna", "ben"].randomElement(using: &generator)!
                let kind = Int.random(in: 0..<QuotaModelTests.contents.count, using: &generator)
                let end = now.adding(seconds: .random(in: 20...200, using: &generator))
                switch Int.random(in: 0..<10, using: &generator) {
                case 0..<5:
                    let part = ["payload", "icon"].randomElement(using: &generator)!
                    changes.append(
                        .publish(
                            try store.publication(
                                id, QuotaModelTests.contents[kind], part: part, owner: owner,
                                expiry: .at(end))))
                    var item = live(id) ?? Item(owner: owner, parts: [:], expiresAt: end)
                    item.owner = owner ?? item.owner
                    item.parts[part] = kind
                    item.expiresAt = end
                    expected.append(take(item, for: id))
                case 5..<8:
                    let other = Int.random(
                        in: 0..<QuotaModelTests.contents.count, using: &generator)
                    var draft = NotificationDraft(id: id, expiry: .at(end))
                    draft.owner = owner
                    draft.message = "m"
                    draft.parts = try [("a", kind), ("b", other)].map { name, kind in
                        DraftPart(
                            name: name, mediaType: "image/png",
                            content: .payload(try store.prepare(QuotaModelTests.contents[kind])))
                    }
                    changes.append(.publishNotification(draft))
                    expected.append(
                        take(
                            Item(owner: owner, parts: ["a": kind, "b": other], expiresAt: end),
                            for: id))
                case 8:
                    let payload = try store.prepare(QuotaModelTests.contents[kind])
                    changes.append(.hold(BlobHold(payload, seconds: 30)))
                    let before = held
                    held[kind] = max(now.adding(seconds: 30), held[kind] ?? now)
                    let fits = fits(items, held, since: (items, before))
                    if !fits { held = before }
                    expected.append(fits)
                default:
                    changes.append(.delete(id: id))
                    let isThere = live(id) != nil
                    if isThere { items[id] = nil }
                    expected.append(isThere)
                }
            }
            let outcomes = try store.apply(changes, asOf: now)
            #expect(outcomes.map(\.isDone) == expected, "\(place)")
            for outcome in outcomes {
                if let error = outcome.error { #expect(error.isQuota, "\(place): \(error)") }
            }
            #expect(
                try store.counters(withPending: true).bytesStored == storedByteCount(items, held),
                "\(place)")
        }

        func live(_ id: String) -> Item? { items[id].flatMap { $0.expiresAt > now ? $0 : nil } }

        mutating func take(_ item: Item, for id: String) -> Bool {
            var after = items
            after[id] = item
            guard fits(after, held, since: (items, held)) else { return false }
            items = after
            return true
        }

        func storedByteCount(_ items: [String: Item], _ held: [Int: Timestamp]) -> Int {
            let kinds = Set(items.values.flatMap { $0.parts.values }).union(held.keys)
            return kinds.reduce(0) { $0 + QuotaModelTests.contents[$1].count }
        }

        func fits(
            _ after: [String: Item], _ heldAfter: [Int: Timestamp],
            since before: ([String: Item], [Int: Timestamp])
        ) -> Bool {
            func isRight(_ limit: Int, _ old: Int, _ new: Int) -> Bool {
                limit == 0 || new <= limit || new <= old
            }
            func counts(_ items: [String: Item], _ owner: String) -> (Int, Int) {
                let own = items.values.filter { $0.owner == owner }
                return (own.count, own.reduce(0) { $0 + $1.byteCount })
            }
            for owner in ["anna", "ben"] {
                let (old, new) = (counts(before.0, owner), counts(after, owner))
                guard isRight(quotas.ownerNotificationCountMax, old.0, new.0),
                    isRight(quotas.ownerByteCountMax, old.1, new.1)
                else { return false }
            }
            return isRight(quotas.notificationCountMax, before.0.count, after.count)
                && isRight(
                    quotas.byteCountMax, storedByteCount(before.0, before.1),
                    storedByteCount(after, heldAfter))
        }

        /// Goes on with the files as a kill leaves them.
        mutating func restart(_ place: String) throws {
            let copy = try folder.copy(withMarks: true)
            try store?.endLogging()
            store = nil
            folder = copy
            let store = try folder.openLogging()
            self.store = store
            store.setQuotas(quotas)
            #expect(try store.verify().problems == [], "\(place)")
            #expect(
                try store.counters().notifications == items.count, "\(place)")
        }

        mutating func end(_ place: String) throws {
            try restart(place)
            for owner in ["anna", "ben"] {
                let own = items.values.filter { $0.owner == owner }
                let usage = try #require(store).usage(of: owner)
                #expect(usage.notifications == own.count, "\(place)")
                #expect(usage.bytes == own.reduce(0) { $0 + $1.byteCount }, "\(place)")
            }
        }
    }
}

extension BlobStore {
    /// What is committed of an owner's counts.
    func usage(of owner: String) throws -> OwnerUsage {
        try withSnapshot { (snapshot) throws(StoreError) in
            let key = IndexKeys.usage(owner)
            let value = try snapshot.transaction.view.get(key.span.bytes, in: core.tables.index)
            guard let value else { return OwnerUsage() }
            return try OwnerUsage(value, key: key.span.bytes)
        }
    }
}
