import Crypto
import Testing

@testable import BlobStore

/// Random operations on the store and on a model of a few dictionaries; after each, the counters
/// agree, and every so often every byte.
@Suite struct CountersModelTests {
    @Test(
        "Random operations leave what a simple model leaves", arguments: [UInt64(41), 42, 43, 44])
    func model(seed: UInt64) throws {
        let folder = TemporaryFolder()
        var run = try Run(folder: folder, seed: seed)
        for step in 0..<400 {
            try run.step()
            try run.compareCounters("seed \(seed), step \(step)")
            if step % 50 == 49 { try run.compareEverything("seed \(seed), step \(step)") }
        }
        try run.end("seed \(seed)")
    }

    /// A notification as the model knows it.
    private struct Model {
        var expiresAt: Timestamp
        var parts: [String: [UInt8]]
    }

    private struct Run {
        let folder: TemporaryFolder
        var store: BlobStore?
        var generator: SeededGenerator
        var now = noon
        var notifications: [String: Model] = [:]
        /// By their bytes: what is referred to.
        var orphanCount = 0
        var revision: UInt64 = 0

        init(folder: TemporaryFolder, seed: UInt64) throws {
            self.folder = folder
            store = try folder.open()
            generator = SeededGenerator(seed: seed)
        }

        var opened: BlobStore {
            get throws { try #require(store) }
        }

        /// A small pool of contents, so that they are shared; some larger than a chunk.
        mutating func content() -> [UInt8] {
            let kind = Int.random(in: 0..<30, using: &generator)
            let count = kind < 20 ? kind * 13 : kind * 4_000
            return [UInt8](repeating: UInt8(kind), count: count)
        }

        mutating func id() -> String { "id-\(Int.random(in: 0..<25, using: &generator))" }

        mutating func step() throws {
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<55: try publish()
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
            let bytes = content()
            let seconds = Int64.random(in: 1...1_000, using: &generator)
            let moment = now.adding(seconds: seconds)
            let keeps = Bool.random(using: &generator)
            let type = Bool.random(using: &generator) ? "text/plain" : "image/png"
            let before = referenced
            let record = try opened.publish(
                opened.publication(
                    id, bytes, part: part, mediaType: type,
                    expiry: keeps ? .keep(otherwise: moment) : .at(moment)), asOf: now)
            let live = notifications[id].flatMap { $0.expiresAt > now ? $0 : nil }
            var model = live ?? Model(expiresAt: moment, parts: [:])
            if !keeps { model.expiresAt = moment }
            model.parts[part] = bytes
            notifications[id] = model
            revision += 1
            noteOrphans(before)
            #expect(record.expiresAt == model.expiresAt)
            #expect(Set(record.parts.map { $0.name }) == Set(model.parts.keys))
        }

        mutating func delete() throws {
            let id = id()
            let before = referenced
            let isThere = notifications[id].map { $0.expiresAt > now } ?? false
            let deleted = try opened.delete(id, asOf: now)
            #expect(deleted == isThere)
            guard isThere else { return }
            notifications[id] = nil
            revision += 1
            noteOrphans(before)
        }

        mutating func sweep() throws {
            let limit = Int.random(in: 1...5, using: &generator)
            let before = referenced
            let due = notifications.filter { $0.value.expiresAt <= now }
                .sorted {
                    ($0.value.expiresAt.milliseconds, $0.key) < (
                        $1.value.expiresAt.milliseconds, $1.key
                    )
                }
            let result = try opened.sweepExpired(asOf: now, limit: limit)
            #expect(result.expired == min(limit, due.count))
            #expect(result.more == (due.count > limit))
            for (id, _) in due.prefix(limit) { notifications[id] = nil }
            revision += UInt64(result.expired)
            noteOrphans(before)
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
            store = try folder.open()
        }

        /// What parts refer to, each content once.
        var referenced: Set<[UInt8]> {
            Set(notifications.values.flatMap { $0.parts.values })
        }

        /// A content that was referred to and is no longer has become an orphan.
        mutating func noteOrphans(_ before: Set<[UInt8]>) {
            orphanCount += before.subtracting(referenced).count
        }

        func compareCounters(_ name: String) throws {
            let counters = try opened.counters()
            let parts = notifications.values.flatMap { Array($0.parts.values) }
            let blobs = referenced
            #expect(counters.notifications == UInt64(notifications.count), "\(name)")
            #expect(counters.parts == UInt64(parts.count), "\(name)")
            #expect(counters.blobs == UInt64(blobs.count), "\(name)")
            #expect(counters.bytes == UInt64(blobs.reduce(0) { $0 + $1.count }), "\(name)")
            #expect(
                counters.bytesReferenced == UInt64(parts.reduce(0) { $0 + $1.count }), "\(name)")
            #expect(counters.orphanBlobs == UInt64(orphanCount), "\(name)")
            #expect(counters.revision == revision, "\(name)")
        }

        func compareEverything(_ name: String) throws {
            for index in 0..<25 {
                let id = "id-\(index)"
                for part in ["payload", "icon", "sound"] {
                    let model = notifications[id].flatMap { $0.expiresAt > now ? $0 : nil }
                    let read = try opened.ownedPayload(for: id, part: part, asOf: now)
                    #expect(read == model?.parts[part], "\(name): \(id)/\(part)")
                }
            }
            for bytes in referenced {
                let digest = Digest(SHA256.hash(data: bytes))
                let isLive = notifications.values.contains {
                    $0.expiresAt > now && $0.parts.values.contains(bytes)
                }
                let read = try opened.ownedPayload(digest: digest, asOf: now)
                if isLive { #expect(read == bytes, "\(name): \(digest)") }
                if let read { #expect(read == bytes, "\(name): \(digest)") }
            }
            let report = try opened.verify()
            #expect(report.problems == [], "\(name)")
        }

        /// All of it goes, and nothing is left.
        mutating func end(_ name: String) throws {
            now = now.adding(seconds: 2_000)
            while try opened.sweepExpired(asOf: now, limit: 1_000).more {}
            try opened.freeAll()
            let counters = try opened.counters()
            var expected = Counters()
            expected.nextBlobNumber = counters.nextBlobNumber
            expected.revision = counters.revision
            #expect(counters == expected, "\(name)")
            let report = try opened.verify()
            #expect(report.problems == [], "\(name)")
        }
    }
}
