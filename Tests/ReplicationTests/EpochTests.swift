import BlobStore
import Replication
import TestSupport
import Testing

/// What devices have seen of a leader whose later changes were lost.
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
        _ = try new.takeOver()
        try publish("after", in: new.store)
        let later = try cursor(new.store, "ann")
        let owner = Array("ann".utf8)
        for text in [first, shared, later] {
            #expect(
                try new.store.feedCursor(text.span.bytes, owner: owner.span.bytes) != nil)
        }
        #expect(throws: StoreError.resync) {
            _ = try new.store.feedCursor(lost.span.bytes, owner: owner.span.bytes)
        }
        // The same on a follower, and after a start.
        try new.ship()
        let third = try Member("third", seededFrom: objects)
        try third.follow()
        try third.reopen()
        #expect(throws: StoreError.resync) {
            _ = try third.store.feedCursor(lost.span.bytes, owner: owner.span.bytes)
        }
        #expect(try third.store.feedCursor(later.span.bytes, owner: owner.span.bytes) != nil)
        #expect(third.store.hasSequence(1, of: 1))
        let lostSequence = old.store.lastSequence
        #expect(!third.store.hasSequence(lostSequence, of: 1))
        #expect(third.store.hasSequence(lostSequence, of: 2))
    }

    @Test("Batches that a leader did not note as shipped are found at its start")
    func resumption() throws {
        let objects = MemoryObjects()
        let leader = try Member("one", objects)
        try leader.begin()
        try leader.writeBase()
        for number in 0..<5 {
            try leader.store.put("n\(number)", [1])
            try leader.ship()
        }
        try leader.store.put("waits", [2])
        try leader.reopen()
        try leader.resume()
        #expect(leader.store.shippedSequence == leader.store.lastSequence - 1)
        try leader.ship()
        try leader.store.saveShipped()
        let follower = try Member("two", seededFrom: objects)
        try follower.follow()
        #expect(try follower.contents() == leader.contents())
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
}
