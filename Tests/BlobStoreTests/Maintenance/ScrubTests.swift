import Bytes
import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Reading a store again, and what is done about damage.
@Suite struct ScrubTests {
    private let folder = TemporaryFolder()

    private static func bytes(_ seed: UInt64, _ count: Int = 200_000) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        return generator.bytes(count)
    }

    /// Changes a byte of a payload in the file, behind the back of those who have it open.
    private func damage(_ payload: [UInt8], at offset: Int = 120_000) throws {
        try Files.damage(payload[offset..<offset + 64], in: folder.path("data.mdb"))
    }

    /// A whole round. Returns what was found, in words.
    @discardableResult
    private func round(_ store: BlobStore, step: Int = 64 << 10) throws -> [String] {
        var scrubber = try store.makeScrubber()
        scrubber.begin(asOf: noon)
        while try scrubber.step(byteCountMax: step, asOf: noon) != nil {}
        #expect(scrubber.position.endedAt == noon && scrubber.position.beganAt == nil)
        return scrubber.takeFindings()
    }

    private func tend(_ store: BlobStore) throws {
        var position = HealingPosition()
        try store.quarantineFound(asOf: noon)
        while try store.heal(&position, recordCountMax: 3, asOf: noon) {}
    }

    private func expectRefused(
        _ store: BlobStore, _ id: String, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let error = try failure { _ = try store.ownedPayload(for: id, asOf: noon) }
        #expect(error.isCorrupt, "\(error)", sourceLocation: location)
    }

    @Test(
        "A sound store gives no finding, however it is cut into steps",
        arguments: [1, 1_000, 1 << 20])
    func sound(step: Int) throws {
        let store = try folder.open()
        for number in 0..<40 {
            let publication = try store.publication(
                "n\(number)", Self.bytes(UInt64(number), number * 4_000), owner: "o\(number % 3)")
            _ = try store.apply([.publish(publication)], asOf: noon)
        }
        try store.delete("n3", asOf: noon)
        try store.deleteOwner("o1", asOf: noon)
        #expect(try round(store, step: step) == [])
        #expect(store.damageCounts == DamageCounts(chunks: 0, records: 0, entries: 0))
        #expect(!store.needsScrubber && !store.hasConfirmedDamage)
    }

    @Test(
        "A damaged chunk is found, quarantined and healed when the same bytes are published again")
    func healed() throws {
        let bytes = Self.bytes(1)
        let digest: Digest
        do {
            let store = try folder.open()
            digest = try store.prepare(bytes).digest
            for id in ["a", "b", "other"] {
                try store.put(id, id == "other" ? Self.bytes(2) : bytes)
            }
            try store.put("b", bytes, part: "icon")
            // All of it is verified, and nobody looks at the checksum again.
            #expect(try store.ownedPayload(for: "a", asOf: noon) == bytes)
            try damage(bytes)
            #expect(try round(store) == [])
            #expect(store.hasConfirmedDamage)
            try expectRefused(store, "a")
            try tend(store)
            #expect(store.damageCounts.chunks == 1)
            let quarantined = store.quarantinedBlobs
            #expect(quarantined.map(\.referenceCount) == [3])
            #expect(quarantined.map(\.digest) == [digest])
            for _ in 0..<2 {
                try expectRefused(store, "a")
                try expectRefused(store, "b")
                #expect(try store.ownedPayload(for: "other", asOf: noon) == Self.bytes(2))
            }
            // Not found twice.
            #expect(try round(store) == [])
            #expect(!store.hasConfirmedDamage)
            let verified = try store.verify()
            #expect(verified.problemCount == 1)
            #expect(verified.problems[0].hasSuffix("failed its checksum (quarantined)"))
            // No backup is taken that lacks bytes.
            #expect(throws: StoreError.self) { try store.backUp(asOf: noon) { _ in } }
        }
        // The mark is in the store: also where the disk has the right byte again.
        var damaged = bytes[120_000..<120_064]
        damaged[120_000] ^= 0x10
        try Files.damage(damaged, in: folder.path("data.mdb"))
        let store = try folder.open()
        #expect(store.quarantinedBlobs.count == 1)
        try expectRefused(store, "a")
        let blobs = try store.counters().blobs

        // It is not used for another notification.
        let part = DraftPart(name: "p", mediaType: "image/png", content: .stored(digest))
        let outcome = try store.apply(.notification("by digest") { $0.parts = [part] })
        #expect(outcome.error == .unknownDigest(digest))
        // What is kept of a notification keeps its damaged part.
        try store.put("b", [1, 2, 3], part: "sound")
        try expectRefused(store, "b")

        let revision = try store.counters().revision
        try store.put("c", bytes)
        #expect(try store.ownedPayload(for: "c", asOf: noon) == bytes)
        try tend(store)
        for (id, part) in [("a", "payload"), ("b", "payload"), ("b", "icon"), ("c", "payload")] {
            #expect(
                try store.ownedPayload(for: id, part: part, asOf: noon) == bytes, "\(id) \(part)")
        }
        #expect(store.quarantinedBlobs == [])
        #expect(
            try store.counters().blobs == blobs + 1 && store.counters().revision == revision + 1)
        #expect(try store.verify().problems == [])
        try store.freeAll()
        #expect(try round(store) == [])
        #expect(try store.verify().problems == [])
    }

    @Test("Who fetches a damaged payload first has it quarantined")
    func fetched() throws {
        let bytes = Self.bytes(3)
        do {
            let store = try folder.open()
            try store.put("a", bytes)
            try damage(bytes)
        }
        let store = try folder.open()
        #expect(!store.needsScrubber)
        try expectRefused(store, "a")
        #expect(store.needsScrubber)
        let scrubber = try store.makeScrubber()
        try scrubber.checkSuspects()
        try tend(store)
        let found = store.takeUnreportedQuarantine()
        #expect(found.count == 1 && store.takeUnreportedQuarantine() == [])
        #expect(try scrubber.ids(referringTo: found[0].blob.number, countMax: 10) == ["a"])
        #expect(!store.needsScrubber)
        try expectRefused(store, "a")
    }

    /// A publish that came before the damage was noted took a reference to the damaged bytes, and its own were
    /// thrown away.
    @Test(
        "What is damaged is stored again by the next publish, whoever has met the damage",
        arguments: [20_000, 300_000, 17 << 20], ["nobody", "a reader", "a round"])
    func publishedAtOnce(byteCount: Int, met: String) throws {
        let (bytes, held) = (Self.bytes(7, byteCount), Self.bytes(8, byteCount))
        do {
            let store = try folder.open()
            try store.put("a", bytes)
            _ = try store.apply([.hold(BlobHold(try store.prepare(held), seconds: 60))], asOf: noon)
            if met != "a round" {
                try damage(bytes, at: 1_000)
                try damage(held, at: 1_000)
            }
        }
        let store = try folder.open()
        store.setQuotas(Quotas())
        let digest = try store.prepare(bytes).digest
        switch met {
        case "a reader": try expectRefused(store, "a")
        case "a round":
            // What is in memory is right.
            #expect(try store.ownedPayload(for: "a", asOf: noon) == bytes)
            try damage(bytes, at: 1_000)
            try damage(held, at: 1_000)
            try round(store)
            #expect(store.hasConfirmedDamage)
        default: break
        }
        let part = DraftPart(name: "p", mediaType: "image/png", content: .stored(digest))
        let outcome = try store.apply(.notification("by digest") { $0.parts = [part] })
        #expect(outcome.error == .unknownDigest(digest))
        try store.put("b", bytes)
        try store.put("c", bytes)
        _ = try store.apply([.hold(BlobHold(try store.prepare(held), seconds: 60))], asOf: noon)
        #expect(try store.ownedPayload(for: "b", asOf: noon) == bytes)
        #expect(try store.ownedPayload(for: "c", asOf: noon) == bytes)
        #expect(try store.ownedPayload(digest: try store.prepare(held).digest, asOf: noon) == held)
        #expect(try store.counters().blobs == 2)
        try tend(store)
        #expect(store.damageCounts.chunks == 1, "the other one was released at once")
        #expect(try store.ownedPayload(for: "a", asOf: noon) == bytes)
        try store.freeAll()
        #expect(store.quarantinedBlobs == [])
        #expect(try store.verify().problems == [])
    }

    @Test("A blob whose successor has gone is found by its digest again")
    func takenBack() throws {
        let bytes = Self.bytes(9)
        let store = try folder.open()
        try store.put("a", bytes)
        try damage(bytes)
        try store.put("b", bytes)
        try store.delete("b", asOf: noon)
        #expect(try store.counters().blobs == 1)
        try tend(store)
        #expect(store.quarantinedBlobs.map(\.referenceCount) == [1])
        try store.put("c", bytes)
        try tend(store)
        #expect(try store.ownedPayload(for: "a", asOf: noon) == bytes)
        try store.freeAll()
        #expect(try store.verify().problems == [])
    }

    /// The log had only the line that it was mended where that was done before the thread that reports came to it.
    @Test("What was mended before it was reported is reported all the same")
    func mendedFirst() throws {
        let store = try folder.open()
        try store.put("a", Self.bytes(3))
        let blob = try #require(try store.record(for: "a", asOf: noon)?.parts.first).blob
        let quarantine = store.core.quarantine
        quarantine.close(DamagedBlob(number: blob.number, digest: blob.digest, foundAt: noon))
        quarantine.finish(blob, in: 1, chunkCount: 1)
        quarantine.open(blob.number)
        #expect(store.takeUnreportedQuarantine().map(\.blob.number) == [blob.number])
        #expect(store.takeUnreportedQuarantine() == [])
    }

    @Test("Damaged payloads go with their notifications, by deletes and by expiry")
    func released() throws {
        let bytes = Self.bytes(4)
        let store = try folder.open()
        for number in 0..<20 {
            try store.put("n\(number)", bytes, seconds: number < 10 ? 60 : 3_600)
        }
        let payload = try store.prepare(bytes)
        _ = try store.apply([.hold(BlobHold(payload, seconds: 600))], asOf: noon)
        try damage(bytes)
        try round(store)
        try tend(store)
        #expect(store.quarantinedBlobs.map(\.referenceCount) == [20])
        let later = noon.adding(seconds: 61)
        #expect(try store.sweepExpired(asOf: later, limit: 100).expired == 10)
        for number in 10..<20 {
            #expect(try store.delete("n\(number)", asOf: later))
        }
        #expect(store.quarantinedBlobs.map(\.referenceCount) == [0], "its hold keeps it")
        #expect(try store.sweepExpired(asOf: noon.adding(seconds: 601), limit: 9).holdsEnded == 1)
        try store.freeAll()
        try tend(store)
        #expect(store.quarantinedBlobs == [] && store.core.quarantine.isEmpty)
        #expect(try store.counters().orphanBlobs == 0 && store.counters().bytesReferenced == 0)
        #expect(try store.verify().problems == [])
    }

    @Test("A damaged payload that only a hold keeps is stored again with its next hold")
    func held() throws {
        let bytes = Self.bytes(5)
        let store = try folder.open()
        _ = try store.apply([.hold(BlobHold(try store.prepare(bytes), seconds: 600))], asOf: noon)
        try damage(bytes)
        try round(store)
        try tend(store)
        #expect(store.quarantinedBlobs.map(\.referenceCount) == [0])
        #expect(try !store.core.contains(try store.prepare(bytes).digest))
        let again = try store.apply(
            [.hold(BlobHold(try store.prepare(bytes), seconds: 600))], asOf: noon)[0]
        #expect(again.isDone)
        try store.freeAll()
        try tend(store)
        #expect(store.quarantinedBlobs == [])
        #expect(try store.counters().heldBlobs == 1 && store.counters().blobs == 1)
        #expect(try store.verify().problems == [])
    }

    @Test("Quotas stay exact while damaged bytes are published again")
    func quotas() throws {
        let bytes = Self.bytes(6)
        let store = try folder.open()
        try store.put("a", bytes)
        try damage(bytes)
        try round(store)
        try tend(store)
        var quotas = Quotas()
        quotas.byteCountMax = bytes.count
        store.setQuotas(quotas)
        try store.put("b", bytes)
        // Its damaged part does not make room.
        #expect(try failure { try store.put("a", [1]) }.isQuota)
        try tend(store)
        #expect(try store.counters().bytesStored == UInt64(bytes.count))
        #expect(try store.verify().problems == [])
    }

    @Test("Damaged records and entries are counted and named")
    func records() throws {
        let store = try folder.open()
        for number in 0..<10 {
            let publication = try store.publication(
                "n\(number)", Self.bytes(UInt64(number), 100), owner: "anna")
            _ = try store.apply([.publish(publication)], asOf: noon)
        }
        let digest = try #require(try store.record(for: "n7", asOf: noon)).parts[0].digest
        for (table, wanted, bit) in [
            (store.core.tables.notifications, Array("n3".utf8), -8),
            (store.core.tables.index, IndexKeys.sequence("anna", 5), -8),
            (store.core.tables.blobs, digest.rawWords.span.bytes.array(), 24),
        ] {
            let entry = try #require(try store.entries(of: table).first { $0.key == wanted })
            let place = bit < 0 ? 8 * entry.value.count + bit : bit
            try store.overwrite(wanted, in: table, with: entry.value.flipping(bit: place))
        }
        let findings = try round(store)
        #expect(findings.count == 3, "\(findings)")
        #expect(findings.contains { $0.contains("notifications, key \"n3\"") }, "\(findings)")
        #expect(store.damageCounts == DamageCounts(chunks: 0, records: 1, entries: 2))
    }

    @Test("A damaged page is found before its entries are walked over, and is nobody's end")
    func pages() throws {
        let store = try folder.open()
        for number in 0..<200 { try store.put("n\(number)", Self.bytes(UInt64(number), 300)) }
        // A leaf of records: all of its entries' places.
        let path = folder.path + "/data.mdb"
        let data = try Files.read(path)
        let record = try store.withSnapshot { (snapshot) throws(StoreError) in
            let key = Array("n77".utf8)
            return try snapshot.transaction.view.get(
                key.span.bytes, in: store.core.tables.notifications)?.array() ?? []
        }
        let places = data.indices.filter { data[$0...].starts(with: record) }
        for place in places {
            let page = place / 4_096 * 4_096
            try Files.overwrite([UInt8](repeating: 0xFF, count: 40), at: page + 16, in: path)
        }
        let findings = try round(store)
        #expect(findings.contains { $0.contains("page ") }, "\(findings)")
        #expect(store.damageCounts.entries > 0)
    }

    @Test("A round goes on behind a restart where it was written")
    func position() throws {
        let bytes = (0..<6).map { Self.bytes(UInt64(20 + $0)) }
        var read = 0
        do {
            let store = try folder.open()
            for (number, bytes) in bytes.enumerated() { try store.put("n\(number)", bytes) }
            var scrubber = try store.makeScrubber()
            #expect(scrubber.position.beganAt == nil && scrubber.position.endedAt == nil)
            scrubber.begin(asOf: noon)
            for _ in 0..<12 { read += try scrubber.step(byteCountMax: 60_000, asOf: noon) ?? 0 }
            try store.write(scrubber.position)
            #expect(scrubber.position.byteCount == read)
            #expect(try store.verify().problems == [])
        }
        let store = try folder.open()
        var scrubber = try store.makeScrubber()
        #expect(scrubber.position.beganAt == noon && scrubber.position.byteCount == read)
        let later = noon.adding(seconds: 5)
        while try scrubber.step(byteCountMax: 60_000, asOf: later) != nil {}
        let all = bytes.reduce(0) { $0 + $1.count }
        #expect((all..<all + 10_000).contains(scrubber.position.byteCount))
        #expect(scrubber.position.endedAt == later)
    }
}
