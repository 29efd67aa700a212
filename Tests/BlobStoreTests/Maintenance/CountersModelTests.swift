import TestSupport
import Testing

@testable import BlobStore

/// Random operations on the store and on a model of a few dictionaries; after each, the counters
/// agree, and every so often every byte.
@Suite struct CountersModelTests {
    @Test(
        "Random operations leave what a simple model leaves", arguments: [UInt64(41), 42, 43])
    func model(seed: UInt64) throws {
        let folder = TemporaryFolder()
        var run = try Run(folder: folder, seed: seed)
        for step in 0..<400 {
            try run.step()
            try run.compareCounters("seed \(seed), step \(step)")
            if step % 60 == 59 { try run.compareEverything("seed \(seed), step \(step)") }
        }
        try run.end("seed \(seed)")
    }

    /// A notification as the model knows it.
    private struct Model {
        var expiresAt: Timestamp
        /// The kind of content that each has.
        var parts: [String: Int]
        var owner: String?
        var isRead = false
    }

    /// What is remembered of a notification that left its owner.
    private struct Tombstone {
        var end: Timestamp
        var revision: UInt64
    }

    /// What a sweep meets.
    private enum Due {
        case notification(String)
        case hold(Int)
        case tombstone(Departed)
    }

    private struct Departed: Hashable {
        var owner: String
        var id: String
    }

    /// Short enough for some to end within a run.
    private static let retentionMilliseconds: Int64 = 300_000

    /// A small pool of contents, so that they are shared; some are larger than a chunk.
    private static let contents: [[UInt8]] = (0..<30).map { kind in
        [UInt8](repeating: UInt8(kind), count: kind < 20 ? kind * 13 : kind * 4_000)
    }

    private struct Run {
        var contents: [[UInt8]] { CountersModelTests.contents }
        /// The digest of each content that was published.
        var digests: [Int: Digest] = [:]
        let folder: TemporaryFolder
        var store: BlobStore?
        var generator: SeededGenerator
        var now = noon
        var notifications: [String: Model] = [:]
        var tombstones: [Departed: Tombstone] = [:]
        var held: [Int: Timestamp] = [:]
        var orphanCount = 0
        var revision: UInt64 = 0
        var horizon: UInt64 = 0

        init(folder: TemporaryFolder, seed: UInt64) throws {
            self.folder = folder
            store = try Self.open(folder)
            generator = SeededGenerator(seed: seed)
        }

        static func open(_ folder: TemporaryFolder) throws -> BlobStore {
            try folder.open {
                $0.tombstoneRetentionMilliseconds = CountersModelTests.retentionMilliseconds
            }
        }

        var opened: BlobStore {
            get throws { try #require(store) }
        }

        mutating func id() -> String { "id-\(Int.random(in: 0..<25, using: &generator))" }

        mutating func step() throws {
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<35: try publish()
            case 35..<50: try patch()
            case 50..<55: try hold()
            case 55..<75: try delete()
            case 75..<82: now = now.adding(seconds: .random(in: 1...200, using: &generator))
            case 82..<90: try sweep()
            case 90..<96: try free()
            case 96..<98: try refuse()
            default: try reopen()
            }
        }

        mutating func publish() throws {
            let id = id()
            let part = ["payload", "icon", "sound"].randomElement(using: &generator) ?? ""
            let kind = Int.random(in: 0..<contents.count, using: &generator)
            let seconds = Int64.random(in: 1...1_000, using: &generator)
            let moment = now.adding(seconds: seconds)
            let keeps = Bool.random(using: &generator)
            let owner = [nil, "anna", "ben"].randomElement(using: &generator) ?? nil
            let type = Bool.random(using: &generator) ? "text/plain" : "image/png"
            let before = kept
            let record = try opened.publish(
                opened.publication(
                    id, contents[kind], part: part, owner: owner, mediaType: type,
                    expiry: keeps ? .keep(otherwise: moment) : .at(moment)), asOf: now)
            let live = notifications[id].flatMap { $0.expiresAt > now ? $0 : nil }
            var model = live ?? Model(expiresAt: moment, parts: [:])
            if !keeps { model.expiresAt = moment }
            model.parts[part] = kind
            digests[kind] = record.part(named: part)?.digest
            model.owner = owner ?? live?.owner
            revision += 1
            noteOwner(of: id, from: notifications[id]?.owner, to: model.owner)
            notifications[id] = model
            noteOrphans(before)
            #expect(record.owner == model.owner)
            #expect(record.details.isRead == model.isRead)
            #expect(record.expiresAt == model.expiresAt)
            #expect(Set(record.parts.map { $0.name }) == Set(model.parts.keys))
        }

        /// One that leaves its owner is remembered, until it comes back.
        mutating func noteOwner(of id: String, from old: String?, to new: String?) {
            if let old, old != new {
                tombstones[Departed(owner: old, id: id)] = Tombstone(
                    end: Timestamp(
                        milliseconds: now.milliseconds + CountersModelTests.retentionMilliseconds),
                    revision: revision)
            }
            if let new { tombstones[Departed(owner: new, id: id)] = nil }
        }

        mutating func patch() throws {
            let id = id()
            let isRead = Bool.random(using: &generator)
            let live = notifications[id].flatMap { $0.expiresAt > now ? $0 : nil }
            let moment = now.adding(seconds: .random(in: 1...1_000, using: &generator))
            let moves = Int.random(in: 0..<4, using: &generator) == 0
            let outcome = try opened.patch(id, asOf: now) { patch in
                patch.isRead = .set(isRead)
                if moves { patch.expiresAt = .set(moment) }
            }
            guard var model = live else {
                #expect(outcome.isNotFound)
                return
            }
            let isSame = model.isRead == isRead && (!moves || model.expiresAt == moment)
            #expect(outcome.isUnchanged == isSame)
            model.isRead = isRead
            if moves { model.expiresAt = moment }
            notifications[id] = model
            if !isSame { revision += 1 }
        }

        mutating func hold() throws {
            let kind = Int.random(in: 0..<contents.count, using: &generator)
            let until = now.adding(seconds: .random(in: 1...300, using: &generator))
            let isNew = !kept.contains(kind)
            let payload = try opened.prepare(contents[kind])
            digests[kind] = payload.digest
            let outcome = try opened.apply(.hold(BlobHold(payload, until: until)), asOf: now)
            held[kind] = max(held[kind] ?? until, until)
            guard case .held(let blob, isNew) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(blob.until == held[kind])
        }

        mutating func delete() throws {
            let id = id()
            let before = kept
            let isThere = notifications[id].map { $0.expiresAt > now } ?? false
            #expect(try opened.delete(id, asOf: now) == isThere)
            guard isThere else { return }
            revision += 1
            noteOwner(of: id, from: notifications[id]?.owner, to: nil)
            notifications[id] = nil
            noteOrphans(before)
        }

        mutating func sweep() throws {
            let limit = Int.random(in: 1...5, using: &generator)
            let before = kept
            let due = try due()
            let result = try opened.sweepExpired(asOf: now, limit: limit)
            let counts = SweepResult(
                expired: result.expired, forgotten: result.forgotten,
                holdsEnded: result.holdsEnded, more: due.count > limit)
            #expect(result == counts)
            #expect(
                result.expired + result.forgotten + result.holdsEnded == min(limit, due.count))
            for entry in due.prefix(limit) {
                switch entry {
                case .notification(let id):
                    revision += 1
                    noteOwner(of: id, from: notifications[id]?.owner, to: nil)
                    notifications[id] = nil
                case .hold(let kind): held[kind] = nil
                case .tombstone(let departed):
                    horizon = max(horizon, tombstones[departed]?.revision ?? 0)
                    tombstones[departed] = nil
                }
            }
            noteOrphans(before)
        }

        /// What is due, in the order of the index's keys.
        func due() throws -> [Due] {
            var due: [(key: [UInt8], Due)] = []
            for (id, model) in notifications where model.expiresAt <= now {
                due.append((Keys.expiry(model.expiresAt, id), .notification(id)))
            }
            for (kind, end) in held where end <= now {
                due.append((IndexKeys.holdEnd(end, try #require(digests[kind])), .hold(kind)))
            }
            for (departed, tombstone) in tombstones where tombstone.end <= now {
                let key = IndexKeys.tombstoneEnd(
                    tombstone.end, departed.owner, tombstone.revision)
                due.append((key, .tombstone(departed)))
            }
            due.sort { $0.key.lexicographicallyPrecedes($1.key) }
            return due.map { $0.1 }
        }

        mutating func free() throws {
            try opened.freeAll()
            orphanCount = 0
        }

        mutating func refuse() throws {
            let bad = try opened.publication("a/b", [1])
            let error = try failure { try opened.publish(bad, asOf: now) }
            #expect(error.field == .id)
        }

        mutating func reopen() throws {
            store = nil
            store = try Self.open(folder)
        }

        /// What parts refer to, each content once.
        var referenced: Set<Int> {
            Set(notifications.values.flatMap { $0.parts.values })
        }

        /// What is stored: what parts refer to, and what is held.
        var kept: Set<Int> { referenced.union(held.keys) }

        /// A content that was kept and is no longer has become an orphan.
        mutating func noteOrphans(_ before: Set<Int>) {
            orphanCount += before.subtracting(kept).count
        }

        func compareCounters(_ name: String) throws {
            let counters = try opened.counters()
            let parts = notifications.values.flatMap { Array($0.parts.values) }
            let blobs = kept
            #expect(counters.notifications == UInt64(notifications.count), "\(name)")
            #expect(counters.parts == UInt64(parts.count), "\(name)")
            #expect(counters.blobs == UInt64(blobs.count), "\(name)")
            #expect(
                counters.bytes == UInt64(blobs.reduce(0) { $0 + contents[$1].count }), "\(name)")
            #expect(
                counters.bytesReferenced == UInt64(parts.reduce(0) { $0 + contents[$1].count }),
                "\(name)")
            #expect(counters.orphanBlobs == UInt64(orphanCount), "\(name)")
            #expect(counters.revision == revision, "\(name)")
            #expect(counters.tombstones == UInt64(tombstones.count), "\(name)")
            #expect(counters.heldBlobs == UInt64(held.count), "\(name)")
            #expect(counters.horizon == horizon, "\(name)")
        }

        func compareEverything(_ name: String) throws {
            for index in 0..<25 {
                let id = "id-\(index)"
                for part in ["payload", "icon", "sound"] {
                    let model = notifications[id].flatMap { $0.expiresAt > now ? $0 : nil }
                    let read = try opened.ownedPayload(for: id, part: part, asOf: now)
                    #expect(
                        read == model?.parts[part].map { contents[$0] }, "\(name): \(id)/\(part)")
                }
            }
            for owner in ["anna", "ben"] {
                let index = try opened.ownerIndex(owner)
                let mine = notifications.filter { $0.value.owner == owner }.map { $0.key }
                let gone = tombstones.keys.filter { $0.owner == owner }.map { "-\($0.id)" }
                #expect(index.history.sorted() == mine.sorted(), "\(name): \(owner)")
                #expect(index.feed.sorted() == (mine + gone).sorted(), "\(name): \(owner)")
                #expect(index.finderCount == gone.count, "\(name): \(owner)")
            }
            for kind in kept {
                let isLive =
                    held[kind].map { $0 > now } ?? false
                    || notifications.values.contains {
                        $0.expiresAt > now && $0.parts.values.contains(kind)
                    }
                let read = try opened.ownedPayload(digest: #require(digests[kind]), asOf: now)
                #expect(read == contents[kind] || (read == nil && !isLive), "\(name): \(kind)")
            }
            #expect(try opened.verify().problems == [], "\(name)")
        }

        /// All of it goes, and nothing is left.
        mutating func end(_ name: String) throws {
            // First what ends, then what is remembered of it.
            for _ in 0..<2 {
                now = now.adding(seconds: 2_000)
                while try opened.sweepExpired(asOf: now, limit: 1_000).more {}
            }
            try opened.freeAll()
            let counters = try opened.counters()
            #expect(try opened.indexCount() == 0, "\(name)")
            var expected = Counters()
            expected.horizon = counters.horizon
            expected.nextBlobNumber = counters.nextBlobNumber
            expected.revision = counters.revision
            #expect(counters == expected, "\(name)")
            #expect(try opened.verify().problems == [], "\(name)")
        }
    }
}
