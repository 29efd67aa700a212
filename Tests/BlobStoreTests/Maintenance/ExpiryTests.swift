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
            (Timestamp(milliseconds: StoreLimits.expiryMillisecondsMax), .expired),
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
        for (now, count) in [(Self.justBefore, 0), (Self.end, 1)] {
            #expect(try store.sweepExpired(asOf: now, limit: 10).expired == count)
        }
    }

    @Test("At its expiry its owner has it no more, and what takes its id is new")
    func ownersBoundary() throws {
        for (now, isLive) in [(Self.justBefore, true), (Self.end, false)] {
            let (anna, ben) = ("anna \(isLive)", "ben \(isLive)")
            func publish(_ id: String, _ owner: String, asOf now: Timestamp) throws {
                let end = now == noon ? Self.end : noon.adding(seconds: 3_600)
                let publication = try store.publication(
                    "\(id) \(isLive)", [1], owner: owner, expiry: .at(end))
                #expect(try store.apply([.publish(publication)], asOf: now)[0].isDone)
            }
            try publish("a", anna, asOf: noon)
            try publish("b", anna, asOf: noon)
            let read = try store.changes(of: anna, from: .latest).next
            let records = try store.history(of: anna, asOf: now).records
            #expect(records.count == (isLive ? 2 : 0))
            try publish("a", anna, asOf: now)
            try publish("b", ben, asOf: now)
            let kinds = try store.changes(of: anna, from: .after(read)).changes.map(\.kind)
            #expect(kinds == (isLive ? [.updated, .deleted] : [.published, .expired]))
        }
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

    /// Keys of the expiry table are unsigned: one before 1970 would sort behind all others and never be swept.
    @Test(
        "An expiry that is not after the present, before 1970 or too late to be written, is refused",
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
        let last = Timestamp(milliseconds: StoreLimits.expiryMillisecondsMax)
        try store.publish(store.publication("a", [1], expiry: .at(last)), asOf: noon)
        #expect(try store.record(for: "a", asOf: noon)?.expiresAt == last)
    }

    /// The expiry kept with a blob is the latest that any part was given. When the part that had it was deleted,
    /// the blob stayed readable by its digest after all others had expired, until the sweeper came.
    @Test("By digest a blob is found until the last that refers to it expires, swept or not")
    func byDigest() throws {
        let bytes = Array("one picture for all".utf8)
        let digest = try store.put("long", bytes, seconds: 3_600).parts[0].digest
        for (id, seconds) in [("a", 10), ("b", 20)] as [(String, Int64)] {
            try store.put(id, bytes, seconds: seconds)
        }
        func isFound(after seconds: Int64) throws -> Bool {
            try store.ownedPayload(digest: digest, asOf: noon.adding(seconds: seconds)) == bytes
        }
        #expect(try isFound(after: 20))
        try store.delete("long", asOf: noon)
        #expect(try isFound(after: 19))
        #expect(try !isFound(after: 20))
        // A patch gives it a later end than any part had.
        _ = try store.patch("a") { $0.expiresAt = .set(noon.adding(seconds: 7_200)) }
        #expect(try isFound(after: 7_199))
        #expect(try !isFound(after: 7_200))
    }

    @Test("What only a hold kept is gone when the sweep has ended the hold")
    func hold() throws {
        let hold = BlobHold(try store.prepare([1, 2, 3]), seconds: 10)
        _ = try store.apply([.hold(hold)], asOf: noon)
        #expect(try store.counters().blobs == 1)
        let end = noon.adding(seconds: 10)
        #expect(try store.lookUp(hold.payload.digest, asOf: end) == .expired)
        #expect(try store.sweepExpired(asOf: end, limit: 10) == SweepResult(holdsEnded: 1))
        let after = try store.counters()
        #expect([after.heldBlobs, after.blobs, after.bytes, after.orphanBlobs] == [0, 0, 0, 1])
        #expect(try store.lookUp(hold.payload.digest, asOf: noon) == .missing)
    }
}
