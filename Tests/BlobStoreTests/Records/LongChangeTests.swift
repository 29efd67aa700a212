import Bytes
import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Changes of many notifications, in bounded steps.
@Suite struct LongChangeTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private func fill(_ store: BlobStore, _ owner: String, count: Int, group: String?) throws {
        let changes = try (0..<count).map { number in
            let part = DraftPart(
                name: "payload", mediaType: "image/png",
                content: .payload(try store.prepare([UInt8(number % 7)])))
            return Change.notification("\(owner)-\(number)", owner: owner, group: group) {
                $0.parts = [part]
            }
        }
        #expect(try store.apply(changes, asOf: noon).allSatisfy { $0.isDone })
    }

    private static var read: NotificationPatch {
        var patch = NotificationPatch(id: "")
        patch.isRead = .set(true)
        patch.device = "phone"
        return patch
    }

    @Test("A group's patch goes in steps, and changes nothing twice")
    func group() throws {
        try fill(store, "anna", count: 600, group: "g")
        try fill(store, "ben", count: 3, group: "g")
        try store.publish("other", owner: "anna", group: "g2")
        _ = try store.patch("anna-5") { $0.isRead = .set(true) }
        let before = try store.counters().revision
        var change = LongChange.patchGroup(owner: "anna", group: "g", Self.read)
        var steps = 0
        var isDone = false
        while !isDone {
            isDone = try store.advance(&change, asOf: noon)
            steps += 1
            // What comes meanwhile is left alone.
            try store.publish("new-\(steps)", owner: "anna", group: "g")
            #expect(change.matched == min(256 * steps, 600))
        }
        #expect(steps == 3)
        #expect(change.changed == 599)
        #expect(try store.counters().revision == before + 599 + 3)
        for (id, isRead) in [
            ("anna-0", true), ("anna-599", true), ("other", false), ("ben-0", false),
            ("new-1", false),
        ] {
            #expect(try store.record(for: id, asOf: noon)?.details.isRead == isRead, "\(id)")
        }
        #expect(try store.verify().problems == [])

        let transaction = try store.lastTransaction()
        #expect(try store.patchGroup("g2", of: "ben", Self.read, asOf: noon).matched == 0)
        #expect(try store.lastTransaction() == transaction)
    }

    /// A patch that ran out of room was refused as if nothing had been done, although some of the group had been
    /// patched.
    @Test("A group's patch that stops without room says how much it has done")
    func stopped() throws {
        let folder = TemporaryFolder()
        let store = try folder.open { $0.mapByteCountMax = 8 << 20 }
        try fill(store, "anna", count: 600, group: "g")
        var patch = NotificationPatch(id: "")
        patch.message = .set(String(repeating: "m", count: StoreLimits.messageByteCountMax))
        var count = UInt8(0)
        let full = try failure {
            while true {
                try store.put("filler-\(count)", Array(repeating: count, count: 40_000))
                count += 1
            }
        }
        #expect(full.isFull)
        for number in 0..<count / 4 { try store.delete("filler-\(number)", asOf: noon) }
        _ = try store.freeOrphans(byteCountMax: 1 << 30)
        var change = LongChange.patchGroup(owner: "anna", group: "g", patch)
        let error = try failure { while try !store.advance(&change, asOf: noon) {} }
        #expect(error.isFull)
        func patchedCount() throws -> Int {
            try (0..<600).count { number in
                try store.record(for: "anna-\(number)", asOf: noon)?.message != nil
            }
        }
        #expect(try patchedCount() == change.changed)
        #expect(change.changed > 0 && change.changed < 600)
    }

    @Test("A group is removed in steps, each told, and nothing else of the owner's")
    func removedGroup() throws {
        try fill(store, "anna", count: 600, group: "g")
        try fill(store, "ben", count: 3, group: "g")
        try store.publish("other", owner: "anna", group: "g2")
        let start = try store.changes(of: "anna", from: .latest).next
        let before = try store.counters()
        var change = LongChange.deleteGroup(owner: "anna", group: "g", device: "phone")
        var steps = 0
        var isDone = false
        while !isDone {
            isDone = try store.advance(&change, asOf: noon)
            steps += 1
            try store.publish("new-\(steps)", owner: "anna", group: "g")
            #expect(change.changed <= StoreLimits.longChangeStepCountMax * steps)
        }
        #expect(steps >= 3)
        #expect(change.changed == 600)
        #expect(try store.counters().notifications == before.notifications - 600 + UInt64(steps))
        let index = try store.ownerIndex("anna")
        #expect(index.history == ["other"] + (1...steps).map { "new-\($0)" })
        #expect(index.groups["g"]?.count == steps)
        let page = try store.changes(of: "anna", from: .after(start), limit: 1_000)
        let gone = page.changes.filter { $0.kind == .deleted }
        #expect(gone.count == 600)
        #expect(gone.allSatisfy { $0.device == "phone" })
        #expect(try store.ownerIndex("ben").history.count == 3)
        #expect(try store.verify().problems == [])

        // Of one app alone; of a group that nobody has.
        try store.publish("mail", owner: "anna", group: "g") { $0.details.app = "mail" }
        #expect(try store.deleteGroup("g", of: "anna", app: "mail", asOf: noon).changed == 1)
        let transaction = try store.lastTransaction()
        #expect(try store.deleteGroup("g", of: "anna", app: "mail", asOf: noon).changed == 0)
        #expect(try store.deleteGroup("x", of: "carl", asOf: noon).changed == 0)
        #expect(try store.lastTransaction() == transaction)
    }

    @Test("A patch may take them out of the group it goes through")
    func leavingGroup() throws {
        try fill(store, "anna", count: 300, group: "g")
        var patch = NotificationPatch(id: "")
        patch.group = .set("h")
        #expect(try store.patchGroup("g", of: "anna", patch, asOf: noon).changed == 300)
        #expect(try store.ownerIndex("anna").groups == ["h": (1...300).map { UInt64($0) }])
        #expect(try store.verify().problems == [])
    }

    @Test("A member that has expired is passed over")
    func expired() throws {
        try store.publish("a", owner: "anna", group: "g", seconds: 10)
        try store.publish("b", owner: "anna", group: "g", seconds: 20)
        let later = noon.adding(seconds: 15)
        let change = try store.patchGroup("g", of: "anna", Self.read, asOf: later)
        #expect(change.matched == 1)
        #expect(change.changed == 1)
        #expect(try store.deleteGroup("g", of: "anna", asOf: later).matched == 1)
    }

    @Test("The end of an account leaves a mark and nothing else of it")
    func owner() throws {
        let folder = TemporaryFolder()
        let store = try folder.open { $0.tombstoneRetentionMilliseconds = 50_000 }
        try fill(store, "anna", count: 300, group: "g")
        try fill(store, "ann", count: 2, group: "g")
        for number in 0..<40 { _ = try store.patch("anna-\(number)") { $0.isRead = .set(true) } }
        for number in 290..<300 { _ = try store.apply(.delete(id: "anna-\(number)")) }
        var change = LongChange.deleteOwner("anna")
        var steps = 0
        var isDone = false
        while !isDone {
            isDone = try store.advance(&change, asOf: noon)
            steps += 1
            if steps == 1 { try store.publish("new", owner: "anna") }
        }
        #expect(change.changed == 290)
        let counters = try store.counters()
        #expect(counters.notifications == 3)
        #expect(counters.tombstones == 0)
        #expect(counters.horizon == 0)
        let index = try store.ownerIndex("anna")
        #expect(index.history == ["new"])
        #expect(index.feed == ["new"])
        #expect(index.finderCount == 0)
        #expect(index.groups == [:])
        #expect(index.mark?.revision == counters.revision)
        #expect(index.mark?.end == noon.adding(seconds: 50))
        let marks = try store.timeEntries().filter { if case .mark = $0 { true } else { false } }
        #expect(marks == [.mark(noon.adding(seconds: 50), owner: "anna")])
        #expect(try store.ownerIndex("ann").feed == ["ann-0", "ann-1"])
        #expect(try store.verify().problems == [])

        // Again: one more, and the mark moves; then there is nothing to do.
        let later = noon.adding(seconds: 10)
        #expect(try store.deleteOwner("anna", asOf: later).changed == 1)
        let moved = try store.ownerIndex("anna").mark
        #expect(moved?.end == later.adding(seconds: 50))
        let before = try store.counters()
        #expect(try store.deleteOwner("anna", asOf: later).matched == 0)
        #expect(try store.counters() == before)

        let swept = try store.sweepExpired(asOf: later.adding(seconds: 50), limit: 10)
        #expect(swept == SweepResult(forgotten: 1))
        #expect(try store.counters().horizon == moved?.revision)
        #expect(try store.ownerIndex("anna") == OwnerIndex())
        #expect(try store.verify().problems == [])
    }

    private func expect(
        _ change: LongChange, _ changed: Int, damaged: Int, _ ids: [String],
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(change.changed == changed, sourceLocation: location)
        #expect(change.damaged == damaged, sourceLocation: location)
        #expect(change.damagedIDs == ids, sourceLocation: location)
    }

    /// What was left was not said: the removal of an account looked as if it was done.
    @Test("A damaged notification does not keep the others of its account, and is named")
    func damaged() throws {
        try fill(store, "anna", count: 5, group: "g")
        // It has a place of its own in the feed, and is counted once.
        _ = try store.patch("anna-1") { $0.message = .set("changed") }
        try store.overwrite(
            Array("anna-1".utf8), in: store.core.tables.notifications, with: [7, 7, 7])
        expect(
            try store.patchGroup("g", of: "anna", Self.read, asOf: noon), 4, damaged: 1, ["anna-1"])
        try fill(store, "ben", count: 5, group: "g")
        try store.overwrite(
            Array("ben-1".utf8), in: store.core.tables.notifications, with: [7, 7, 7])
        expect(try store.deleteGroup("g", of: "ben", asOf: noon), 4, damaged: 1, ["ben-1"])
        for _ in 0..<2 {
            let before = try store.counters().notifications
            let change = try store.deleteOwner("anna", asOf: noon)
            expect(change, before == 6 ? 4 : 0, damaged: 1, ["anna-1"])
        }
        #expect(try store.counters().notifications == 2)
        expect(try store.deleteOwner("nobody", asOf: noon), 0, damaged: 0, [])
    }

    @Test("A place that is damaged, or that no other place leads to, is counted without an id")
    func damagedPlaces() throws {
        let count = LongChange.damagedIDCountMax + 5
        try fill(store, "anna", count: count, group: nil)
        let revision = try #require(try store.record(for: "anna-3", asOf: noon)).revision
        try store.overwrite(
            IndexKeys.sequence("anna", revision), in: store.core.tables.index, with: [7, 7, 7])
        expect(try store.deleteOwner("anna", asOf: noon), count - 1, damaged: 1, [])
        try store.overwrite(
            IndexKeys.sequence("anna", revision), in: store.core.tables.index, with: nil)
        expect(try store.deleteOwner("anna", asOf: noon), 0, damaged: 1, [])
        // More than are named.
        try fill(store, "ben", count: count, group: nil)
        for number in 0..<count {
            try store.overwrite(
                Array("ben-\(number)".utf8), in: store.core.tables.notifications, with: [7])
        }
        let first = (0..<LongChange.damagedIDCountMax).map { "ben-\($0)" }
        expect(try store.deleteOwner("ben", asOf: noon), 0, damaged: count, first)
    }

    /// The removal stopped there, and again whenever it was repeated.
    @Test("What meets damage in the middle of its removal is left, and the others are removed")
    func damagedInTheMiddle() throws {
        for number in 0..<5 {
            try store.publish(
                Publication(
                    id: "n\(number)",
                    payload: try store.prepare(
                        [UInt8](repeating: UInt8(number), count: number == 2 ? 2_000 : 10)),
                    owner: "anna", expiry: .at(noon.adding(seconds: 60))), asOf: noon)
        }
        var counters = try store.counters()
        counters.bytesReferenced = 40
        try store.overwrite(
            Array(Counters.name.utf8), in: store.core.tables.meta,
            with: counters.value.span.bytes.array())
        expect(try store.deleteOwner("anna", asOf: noon), 4, damaged: 1, ["n2"])
    }
}
