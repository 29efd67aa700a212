import BlobStore
import FeedModel
import Replication
import TestSupport
import Testing

/// What followers have of a leader, and what devices have seen of one whose later changes were lost.
@Suite struct EpochTests {
    private func cursor(_ store: BlobStore, _ owner: String) throws -> [UInt8] {
        let bytes = Array(owner.utf8)
        let page = try store.withSnapshot { (snapshot) throws(StoreError) in
            try snapshot.changes(of: bytes.span.bytes, from: .beginning, limit: 100)
        }
        var text: [UInt8] = []
        page.next.append(owner: bytes.span.bytes, store: store.id, to: &text)
        return text
    }

    private func publish(_ id: String, in store: BlobStore) throws {
        var writer = store.makePayloadWriter()
        try writer.append([1].span.bytes)
        var publication = Publication(
            id: id, payload: try writer.finish(mediaType: "text/plain"),
            expiry: .at(noon.adding(seconds: 60)))
        publication.owner = "ann"
        try store.publish(publication, asOf: noon)
    }

    @Test("A cursor from the shared history goes on; one from what was lost must begin anew")
    func cursors() throws {
        let objects = MemoryObjects()
        let old = try Member("old", objects)
        try publish("before", in: old.store)
        let first = try cursor(old.store, "ann")
        try old.begin()
        try old.writeBase()
        let new = try Member("new", seededFrom: objects)
        try publish("shared", in: old.store)
        try old.ship()
        let shared = try cursor(old.store, "ann")
        try publish("lost", in: old.store)
        let lost = try cursor(old.store, "ann")
        guard case .leads(let writer) = try new.takeOver(), writer.epoch == 2 else {
            throw TestFailure("no lead")
        }
        try publish("after", in: new.store)
        let later = try cursor(new.store, "ann")
        // Whatever numbers the old leader has given since, the new one's are higher.
        let (given, next) = (
            try old.store.statistics().revision, try new.store.statistics().revision
        )
        #expect(next > given + (1 << 31))
        let step = try old.shipper?.step(on: old.bucket, asOf: noon, appendsEmpty: true)
        #expect(step == .deposed(epoch: 2))
        for text in [first, shared, later] { try expect(text, isGoodAt: true, new.store) }
        try expect(lost, isGoodAt: false, new.store)
        // The same on a follower, and after a start.
        try new.ship()
        let third = try Member("third", seededFrom: objects)
        try third.follow()
        try third.reopen()
        try expect(lost, isGoodAt: false, third.store)
        try expect(later, isGoodAt: true, third.store)
        #expect(third.store.hasSequence(1, of: 1))
        let lostSequence = old.store.lastSequence
        #expect(!third.store.hasSequence(lostSequence, of: 1))
        #expect(third.store.hasSequence(lostSequence, of: 2))
    }

    private func assigned(_ store: BlobStore) throws -> String {
        var writer = store.makePayloadWriter()
        try writer.append([1].span.bytes)
        return try store.publish(
            Publication(
                id: nil, payload: try writer.finish(mediaType: "text/plain"),
                expiry: .at(noon.adding(seconds: 60))), asOf: noon
        ).id
    }

    // The link to a notification of one owner, which was lost, then led to another one's.
    @Test("Neither a follower that takes the lead nor a restored store assigns an id that was lost")
    func assignedIDs() throws {
        let objects = MemoryObjects()
        let old = try Member("old", objects)
        try old.begin()
        try old.writeBase()
        var ids = try (0..<3).map { _ in try assigned(old.store) }
        try old.ship()
        let new = try Member("new", seededFrom: objects)
        try new.follow()
        let shared = old.store.lastSequence
        ids += try (0..<3).map { _ in try assigned(old.store) }
        #expect(ids == ["0", "1", "2", "3", "4", "5"])
        guard case .leads = try new.takeOver() else { throw TestFailure("no lead") }
        ids += try (0..<3).map { _ in try assigned(new.store) }
        try new.ship()
        // A follower knows what its leader gives next.
        let third = try Member("third", seededFrom: objects)
        try third.follow()
        ids += try (0..<3).map { _ in try assigned(new.store) }
        guard case .leads(let writer) = try third.takeOver(), writer.epoch == 3 else {
            throw TestFailure("no lead")
        }
        ids += try (0..<3).map { _ in try assigned(third.store) }
        try third.ship()
        for _ in 0..<2 {
            for target in [.sequence(shared), .end] as [Restorer.Target] {
                let folder = TemporaryFolder()
                _ = try Restorer(target, asOf: noon).restore(
                    to: folder.path, from: MemoryBucket(objects))
                let restored = try BlobStore.open(at: folder.path)
                ids += try (0..<3).map { _ in try assigned(restored) }
            }
        }
        #expect(Set(ids).count == ids.count, "\(ids)")
    }

    // A leader and a copy of it that were both started while the bucket was away gave the same revisions to
    // different changes. A device that read from one and then from the other missed some.
    @Test("Two copies of a leader that start without the bucket refuse each other's cursors")
    func copiesWithoutBucket() throws {
        let objects = MemoryObjects()
        let a = ReplicaUnderTest("a", objects)
        try a.start()
        try a.lead()
        try publish("before", in: a.store)
        let shared = try cursor(a.store, "ann")
        try a.run { a.store.shippedSequence == a.store.lastSequence }
        try a.writeBase()
        a.kill()
        let copy = try a.copied()
        for host in [a, copy] {
            try host.start()
            let last = host.store.lastSequence
            host.bucket.cut = { _ in .before }
            try? host.step()
            #expect(host.activity == .leads)
            // Nothing is changed by the start itself: a copy that takes no change has nothing to lose.
            #expect(host.store.lastSequence == last)
            // A change that finds nothing to do neither.
            _ = try host.store.delete("nothing", asOf: noon)
            #expect(host.store.lastSequence == last)
        }
        try publish("1", in: a.store)
        try publish("1", in: copy.store)
        try publish("2", in: copy.store)
        let (lost, kept) = (try cursor(a.store, "ann"), try cursor(copy.store, "ann"))
        try expect(shared, isGoodAt: true, a.store, copy.store)
        try expect(lost, isGoodAt: true, a.store)
        try expect(kept, isGoodAt: true, copy.store)
        try expect(kept, isGoodAt: false, a.store)
        try expect(lost, isGoodAt: false, copy.store)
    }

    /// Whether changes can be read behind a cursor.
    private func expect(_ text: [UInt8], isGoodAt isGood: Bool, _ stores: BlobStore...) throws {
        let owner = Array("ann".utf8)
        for store in stores {
            let found: Bool
            do throws(StoreError) {
                let cursor = try store.feedCursor(text.span.bytes, owner: owner.span.bytes)
                if let cursor {
                    _ = try store.withSnapshot { (snapshot) throws(StoreError) in
                        try snapshot.changes(
                            of: owner.span.bytes, from: .after(cursor), limit: 10)
                    }
                }
                found = cursor != nil
            } catch {
                guard error == .resync else { throw error }
                found = false
            }
            #expect(found == isGood)
        }
    }

    @Test("A store of a shard is not opened as if it were of none")
    func opening() throws {
        let objects = MemoryObjects()
        let leader = try Member("one", objects)
        try leader.begin()
        let path = leader.folder.path
        try leader.abandon()
        let error = #expect(throws: StoreError.self) { _ = try BlobStore.open(at: path) }
        #expect("\(error.map { "\($0)" } ?? "")".contains("--replicate or --follow"))
    }

    @Test("A follower has all that its leader has", arguments: 0..<2)
    func model(number: Int) throws {
        let seed = testSeed(UInt64(7 + number))
        print("following: seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        var model = FeedModel(seed: seed, hasQuotas: number == 1)
        let objects = MemoryObjects()
        let leader = try Member("one", objects)
        try model.run(40, in: leader.store)
        try leader.begin()
        try leader.writeBase()
        let follower = try Member("two", seededFrom: objects)
        #expect(try follower.contents() == leader.contents())
        do {
            for round in 0..<12 {
                try model.run(60, in: leader.store)
                if round == 5 {
                    try leader.reopen()
                    try leader.resume()
                    // The first change of a start that begins no epoch comes after a random gap.
                    try leader.store.put("gap", [1])
                    _ = try leader.store.delete("gap", asOf: leader.clock.now)
                    model.revision = try leader.store.withSnapshot {
                        (snapshot) throws(StoreError) in try snapshot.lastRevision()
                    }
                }
                if generator.chance(70) { try leader.ship() }
                if generator.chance(30) { try leader.store.saveShipped() }
                if generator.chance(50) { try follower.follow() }
                _ = try follower.store.freeOrphans(byteCountMax: 1 << 20)
            }
            try leader.ship()
            try follower.follow()
            #expect(try follower.contents() == leader.contents(), "seed \(seed)")
            #expect(try follower.store.verify().problems == [])
            #expect(try leader.store.verify().problems == [])
            #expect(follower.store.lastSequence == leader.store.lastSequence)
            #expect(leader.store.unshippedByteCount == 0)
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
    }
}
