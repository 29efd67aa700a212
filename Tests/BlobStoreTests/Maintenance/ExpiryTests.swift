import TestSupport
import Testing

@testable import BlobStore

@Suite struct ExpiryTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static let end = noon.adding(seconds: 60)
    private static let justBefore = Timestamp(milliseconds: end.milliseconds - 1)

    @Test("A payload is found until the millisecond of its expiry, and not at it")
    func boundary() throws {
        let record = try store.put("a", [1, 2, 3], seconds: 60)
        let digest = record.parts[0].digest
        for (now, expected) in [
            (noon, Found.found), (Self.justBefore, .found), (Self.end, .expired),
            (Timestamp(milliseconds: .max), .expired),
        ] {
            let byID = try store.lookUp("a", asOf: now)
            let byDigest = try store.lookUp(digest, asOf: now)
            let isRead = try store.ownedPayload(for: "a", asOf: now) != nil
            let isReadByDigest = try store.ownedPayload(digest: digest, asOf: now) != nil
            let hasRecord = try store.record(for: "a", asOf: now) != nil
            let isLent = try store.withPayload(for: "a", asOf: now) { _ in true } ?? false
            let isListed = try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.records(after: RawSpan(), limit: 10, asOf: now).records.count == 1
            }
            #expect(byID == expected, "\(now)")
            #expect(byDigest == expected, "\(now)")
            for answer in [isRead, isReadByDigest, hasRecord, isLent, isListed] {
                #expect(answer == (expected == .found), "\(now)")
            }
        }
    }

    @Test("What has expired is remembered until it is swept, and its space is used again")
    func sweeping() throws {
        for index in 0..<10 { try store.put("\(index)", [UInt8(index)], seconds: Int64(index + 1)) }
        let now = noon.adding(seconds: 5)
        #expect(try store.sweepExpired(asOf: noon, limit: 100) == SweepResult())
        let first = try store.sweepExpired(asOf: now, limit: 3)
        #expect(first.expired == 3)
        #expect(first.more)
        // Oldest expiry first.
        let found = try (0..<10).map { try store.lookUp("\($0)", asOf: now) }
        #expect(found[..<3].allSatisfy { $0 == .missing })
        #expect(found[3..<5].allSatisfy { $0 == .expired })
        #expect(found[5...].allSatisfy { $0 == .found })
        let second = try store.sweepExpired(asOf: now, limit: 2)
        #expect(second.expired == 2)
        #expect(!second.more)
        #expect(try store.sweepExpired(asOf: now, limit: 2) == SweepResult())
        let counters = try store.counters()
        #expect(counters.notifications == 5)
        #expect(counters.orphanBlobs == 5)
        try store.freeAll()
        #expect(try store.verify().problems == [])
    }

    @Test("A sweep is bounded by what fits a transaction, whatever it is asked for")
    func sweepIsBounded() throws {
        let payload = try store.prepare([1])
        let expiry = Expiry.at(noon.adding(seconds: 1))
        let changes: [Change] = (0..<3_000).map {
            .publish(Publication(id: "\($0)", payload: payload, expiry: expiry))
        }
        _ = try store.apply(changes, asOf: noon)
        let now = noon.adding(seconds: 1)
        let first = try store.sweepExpired(asOf: now, limit: .max - 1)
        #expect(first.expired > 500)
        #expect(first.expired < 3_000)
        #expect(first.more)
        #expect(try store.sweepExpired(asOf: now, limit: -1).expired == 1)
        while try store.sweepExpired(asOf: now, limit: 10_000).more {}
        #expect(try store.counters().notifications == 0)
    }

    @Test("An id that has expired can be published again, as a new notification")
    func republish() throws {
        try store.put("a", [1], part: "icon", seconds: 60)
        let old = try store.put("a", [2], seconds: 60)
        #expect(old.parts.count == 2)
        let later = Self.end
        let new = try store.put("a", [3, 4], part: "sound", seconds: 60, asOf: later)
        #expect(new.parts.map { $0.name } == ["sound"])
        #expect(new.createdAt == later)
        let counters = try store.counters()
        #expect(counters.notifications == 1)
        #expect(counters.parts == 1)
        #expect(counters.orphanBlobs == 2)
        // Its old entry in the expiry table is gone: nothing is due.
        #expect(try store.sweepExpired(asOf: later, limit: 10).expired == 0)
        #expect(try store.verify().problems == [])
    }

    @Test("Deleting what has expired finds nothing, and leaves it to the sweep")
    func deleteExpired() throws {
        try store.put("a", [1], seconds: 60)
        #expect(try !store.delete("a", asOf: Self.end))
        #expect(try store.sweepExpired(asOf: Self.end, limit: 10).expired == 1)
    }

    @Test(
        "An expiry that is not after the present, or too late to be written, is refused",
        arguments: [
            noon.milliseconds, noon.milliseconds - 1, 0, -1, .min, 253_402_300_800_000, .max,
        ])
    func refused(milliseconds: Int64) throws {
        let moment = Timestamp(milliseconds: milliseconds)
        for expiry in [Expiry.at(moment), .keep(otherwise: moment)] {
            let error = try failure {
                try store.publish(store.publication("a", [1], expiry: expiry), asOf: noon)
            }
            #expect(error.field == .expiry)
        }
        #expect(try store.counters() == Counters())
    }

    /// Keys of the expiry table are unsigned: one before 1970 would sort behind all others and
    /// never be swept.
    @Test("An expiry before 1970 is refused, whatever the present is said to be")
    func before1970() throws {
        let error = try failure {
            try store.publish(
                store.publication("a", [1], expiry: .at(Timestamp(milliseconds: -5))),
                asOf: Timestamp(milliseconds: -10))
        }
        #expect(error.field == .expiry)
    }

    @Test("The last moment that can be written is accepted")
    func lastMoment() throws {
        let last = Timestamp(milliseconds: StoreLimits.expiryMillisecondsMax)
        try store.publish(store.publication("a", [1], expiry: .at(last)), asOf: noon)
        let found = try store.lookUp("a", asOf: Timestamp(milliseconds: last.milliseconds - 1))
        #expect(found == .found)
    }

    /// The expiry kept with a blob is the latest that any part was given. When the part that had it was
    /// deleted, the blob stayed readable by its digest after all others had expired, until the sweeper
    /// came.
    @Test("By digest, too, nothing is read after the last expiry, swept or not")
    func afterDelete() throws {
        let bytes = Array("one picture for all".utf8)
        let record = try store.put("short", bytes, seconds: 10)
        try store.put("long", bytes, seconds: 3_600)
        try store.delete("long", asOf: noon)
        let digest = record.parts[0].digest
        #expect(try store.ownedPayload(digest: digest, asOf: noon.adding(seconds: 9)) == bytes)
        #expect(try store.ownedPayload(digest: digest, asOf: noon.adding(seconds: 10)) == nil)
    }

    @Test("What another notification still has is read while expired ones wait to be swept")
    func stillReferenced() throws {
        let bytes = Array("one picture for all".utf8)
        var digest: Digest?
        for index in 0..<20 {
            digest = try store.put("s\(index)", bytes, seconds: 10).parts[0].digest
        }
        try store.put("s0", bytes, part: "again", seconds: 10)
        try store.put("long", bytes, seconds: 3_600)
        let wanted = try #require(digest)
        #expect(try store.ownedPayload(digest: wanted, asOf: noon.adding(seconds: 60)) == bytes)
        try store.delete("long", asOf: noon)
        #expect(try store.ownedPayload(digest: wanted, asOf: noon.adding(seconds: 60)) == nil)
    }
}
