import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Parts and their names, batches of changes, and quotas, as far as the model does not have them.
@Suite struct PartsTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    @Test("Thirty-two parts are stored and found; one more is refused, and replacing one is not")
    func partCount() throws {
        for index in 0..<StoreLimits.partCountMax {
            try store.put("a", [UInt8(index)], part: index == 7 ? "payload" : "part-\(index)")
        }
        let before = try store.counters()
        #expect(before.parts == 32)
        let error = try failure { try store.put("a", [99], part: "one-more") }
        #expect(error.field == .partCount)
        #expect(error.description.contains("32"))
        #expect(try store.counters() == before)
        try store.put("a", [100], part: "part-31")
        for index in 0..<StoreLimits.partCountMax {
            let name = index == 7 ? "payload" : "part-\(index)"
            let read = try store.ownedPayload(for: "a", part: name, asOf: noon)
            #expect(read == [index == 31 ? 100 : UInt8(index)], "\(name)")
        }
        #expect(try store.record(for: "a", asOf: noon)?.parts.first?.name == "payload")
        try store.delete("a", asOf: noon)
        let empty = try store.counters()
        #expect(empty.parts == 0)
        #expect(empty.blobs == 0)
    }

    /// Swift holds é as one scalar and é as two for the same text; names are bytes. The one
    /// replaced the other, which was then not found by the name it had been published under.
    @Test("Names that look alike and have other bytes are other parts")
    func equivalentNames() throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        try store.put("a", [1], part: composed)
        try store.put("a", [2], part: decomposed)
        let first = try store.ownedPayload(for: "a", part: composed, asOf: noon)
        let second = try store.ownedPayload(for: "a", part: decomposed, asOf: noon)
        #expect(first == [1])
        #expect(second == [2])
        let record = try store.record(for: "a", asOf: noon)
        #expect(record?.parts.count == 2)
        #expect(
            record?.part(named: decomposed)?.blob.digest
                != record?.part(named: composed)?.blob.digest)
        #expect(try store.verify().problems == [])
    }

    @Test("An id is assigned where none is given: the next decimal number that is free")
    func assignedIDs() throws {
        let folder = TemporaryFolder()
        do {
            let store = try folder.open()
            try store.put("1", [0])
            let ids = try (0..<3).map { _ in try store.put(nil, [1]).id }
            #expect(ids == ["0", "2", "3"])
        }
        // Also after the store was closed, and though one was deleted.
        let store = try folder.open()
        try store.delete("3", asOf: noon)
        #expect(try store.put(nil, [1]).id == "4")
    }

    @Test("Notifications are listed in the order of their ids' bytes, from any id")
    func listing() throws {
        for id in ["b", "a", "\u{E9}", "ab", "Z"] { try store.put(id, [1]) }
        func list(after id: String, _ limit: Int) throws -> [String] {
            let id = Array(id.utf8)
            return try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.records(after: id.span.bytes, limit: limit, asOf: noon).records.map {
                    $0.id
                }
            }
        }
        #expect(try list(after: "", 10) == ["Z", "a", "ab", "b", "\u{E9}"])
        #expect(try list(after: "a", 2) == ["ab", "b"])
        #expect(try list(after: "aa", 1) == ["ab"])
        let none = try list(after: "\u{E9}", 10)
        #expect(none == [])
        #expect(try list(after: String(repeating: "x", count: 600), 10) == [])
    }

    /// Swift holds é as one scalar and é as two for the same text.
    @Test("Owners, groups and ids that look alike and have other bytes are others")
    func equivalentTexts() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        try store.publish("a", owner: composed, group: composed)
        let record = try store.publish("a", owner: decomposed, group: composed)
        let first = try store.indexCount()
        // Tombstone, finder and end of the one; place, group, expiry and usage of the other.
        #expect(first == 7)
        let patched = try store.patch("a") { $0.group = .set(decomposed) }
        #expect(!patched.isUnchanged)
        #expect(try store.indexCount() == 8)
        #expect(record.sequence == 2)
        #expect(try store.verify().problems == [])
    }

    @Test("A time to live is counted from the moment of the change, for holds too")
    func after() throws {
        let later = noon.adding(seconds: 10)
        func publish(_ expiry: Expiry) throws -> Record {
            try store.publish(store.publication("a", [1], expiry: expiry), asOf: later)
        }
        let record = try publish(.after(seconds: 60))
        #expect(record.expiresAt.milliseconds - record.createdAt.milliseconds == 60_000)
        for seconds in [Int64.min, -1, 0, .max] {
            for expiry in [Expiry.after(seconds: seconds), .keepOrAfter(seconds: seconds)] {
                let error = try failure { _ = try publish(expiry) }
                #expect(error.field == .expiry, "\(expiry)")
            }
        }
        let payload = try store.prepare([2])
        let hold = BlobHold(payload, seconds: 30)
        guard case .held(let held, true) = try store.apply([.hold(hold)], asOf: later)[0] else {
            Issue.record("not held")
            return
        }
        #expect(held.until == later.adding(seconds: 30))
        // A hold is never made shorter.
        guard
            case .held(let again, false) = try store.apply(
                [.hold(BlobHold(payload, seconds: 1))], asOf: later)[0]
        else {
            Issue.record("not held")
            return
        }
        #expect(again.until == held.until)
    }

    @Test(
        "An id at the limit, or of unusual characters, is stored and found",
        arguments: [
            "0", String(repeating: "x", count: 255), String(repeating: "\u{E9}", count: 127),
            " ", "a b", "%2F", "日本語", "😀", "\u{200F}", ".", "..", "a\\b", "payload",
        ])
    func goodIDs(id: String) throws {
        let record = try store.put(id, [1])
        #expect(record.id.utf8.elementsEqual(id.utf8))
        #expect(try store.record(for: id, asOf: noon) == record)
        #expect(try store.delete(id, asOf: noon))
        #expect(try store.counters().notifications == 0)
    }

    @Test(
        "A digest is read in the one form it is written in",
        arguments: [
            "", "sha256:", "sha256:2cf2", "SHA256:" + String(repeating: "a", count: 64),
            "sha256:" + String(repeating: "A", count: 64),
            "sha256:" + String(repeating: "a", count: 65),
            "sha256:" + String(repeating: "g", count: 64),
            "sha512:" + String(repeating: "a", count: 64),
            "sha256:" + String(repeating: "é", count: 32),
        ])
    func badDigests(text: String) {
        #expect(Digest(text) == nil)
    }

    @Test("A batch beyond the limits of a transaction is split")
    func split() throws {
        let before = try Self.transaction(store)
        // Ten different payloads of 10 MB do not fit 64 MiB together.
        let changes = try (0..<10).map { index in
            Change.publish(
                try store.publication("\(index)", [UInt8](repeating: UInt8(index), count: 10 << 20))
            )
        }
        #expect(try store.apply(changes, asOf: noon).allSatisfy { $0.isDone })
        #expect(try Self.transaction(store) - before == 2)
        #expect(try store.verify().problems == [])
    }

    @Test("Nothing to do costs no transaction")
    func nothing() throws {
        let before = try Self.transaction(store)
        #expect(try store.apply([], asOf: noon).isEmpty)
        _ = try store.sweepExpired(asOf: noon, limit: 10)
        _ = try store.freeOrphans(byteCountMax: 10)
        #expect(try Self.transaction(store) == before)
    }

    /// A batch asked for the room of its image once for each notification.
    @Test("A batch that shares one image asks for its room once")
    func sharedImage() throws {
        let folder = TemporaryFolder()
        // Room for the image and its records, not for two images.
        let store = try folder.open { $0.mapByteCountMax = 24 << 20 }
        let payload = try store.prepare([UInt8](repeating: 1, count: 12 << 20))
        let before = try Self.transaction(store)
        let outcomes = try store.apply(
            (0..<100).map {
                .publish(Publication(id: "\($0)", payload: payload, expiry: .at(.max9999)))
            }, asOf: noon)
        #expect(outcomes.allSatisfy { $0.isDone })
        #expect(try Self.transaction(store) - before == 1)
    }

    /// The number of the last commit.
    private static func transaction(_ store: BlobStore) throws -> UInt64 {
        try store.withSnapshot { (snapshot) throws(StoreError) in snapshot.transaction.id }
    }

    private func set(_ change: (inout Quotas) -> Void) {
        var quotas = Quotas()
        change(&quotas)
        store.setQuotas(quotas)
    }

    private func publish(_ id: String, _ bytes: [UInt8]) throws -> Outcome {
        try store.apply([.publish(try store.publication(id, bytes))], asOf: noon)[0]
    }

    @Test("Blobs that are kept count for the store, and one that is written ahead is not begun")
    func holds() throws {
        set { $0.byteCountMax = 1_000 }
        let kept = try store.prepare(Self.bytes(1_000, 1))
        let more = try store.prepare(Self.bytes(1, 2))
        let outcomes = try store.apply(
            [
                .hold(BlobHold(kept, seconds: 60)), .hold(BlobHold(more, seconds: 60)),
                .hold(BlobHold(kept, seconds: 90)),
            ], asOf: noon)
        #expect(outcomes.map(\.isDone) == [true, false, true])
        let orphans = try store.counters(withPending: true).orphanBlobs
        #expect(try publish("a", Self.bytes(20_000_000, 3)).error?.isQuota == true)
        let large = try store.prepare(Self.bytes(20_000_000, 4))
        #expect(
            try store.apply([.hold(BlobHold(large, seconds: 9))], asOf: noon)[0].error?.isQuota
                == true)
        #expect(try store.counters(withPending: true).orphanBlobs == orphans)
    }

    @Test("Nothing grows while the file system has too little")
    func freeDisk() throws {
        #expect(try publish("a", Self.bytes(10, 1)).isDone)
        set { $0.freeDiskByteCountMin = 1 << 59 }
        let error = try publish("b", [2]).error
        guard case .quotaExceeded(let excess) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(excess.setting == .freeDiskByteCountMin && excess.limit == 1 << 59)
        #expect(excess.used == store.freeDiskByteCount || excess.used > 0)
        #expect(throws: StoreError.self) { try store.checkWritable() }
        #expect(try publish("a", Self.bytes(9, 2)).isDone)
        #expect(try store.delete("a", asOf: noon))
        set { $0.freeDiskByteCountMin = 1 }
        #expect(try publish("b", [2]).isDone)
        try store.checkWritable()
    }

    @Test("Whether a publish would be refused is known before")
    func writable() throws {
        set { $0.byteCountMax = 100 }
        #expect(try publish("a", Self.bytes(90, 1)).isDone)
        try store.checkWritable()
        try store.checkWritable(byteCount: 10)
        #expect(try failure { try store.checkWritable(byteCount: 11) }.isQuota)
        set { $0.notificationCountMax = 1 }
        #expect(try failure { try store.checkWritable() }.isQuota)
        set { $0.ownerNotificationCountMax = 1 }
        try store.checkWritable()
    }

    static func bytes(_ count: Int, _ kind: UInt8) -> [UInt8] {
        var generator = SeededGenerator(seed: UInt64(kind))
        return generator.bytes(count)
    }
}

extension StoreError {
    var isQuota: Bool { if case .quotaExceeded = self { true } else { false } }
}

extension BlobStore {
    /// The counters, with what is in the log alone.
    func counters(withPending: Bool) throws -> Counters {
        withPending ? try pipeline.counters() : try counters()
    }
}
