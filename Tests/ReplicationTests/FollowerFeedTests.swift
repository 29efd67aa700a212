import BlobStore
import TestSupport
import Testing

/// Who waits for changes at a follower.
@Suite struct FollowerFeedTests {
    /// Swift takes é as one scalar and as two for the same text: of two such owners in one batch the second was not woken.
    @Test("A follower wakes who waits for each owner of a batch, told apart by bytes")
    func owners() throws {
        let objects = MemoryObjects()
        let leader = try Member("one", objects)
        try leader.begin()
        try leader.writeBase()
        let follower = try Member("two", seededFrom: objects)
        try follower.follow()
        let owners = ["\u{e9}", "e\u{301}"]
        let registrations = try owners.map { owner in
            let page = try follower.store.changes(of: owner, from: .beginning)
            return try follower.store.feedWatch.register(
                Array(owner.utf8), after: page.revision
            ) {}
        }
        let changes = owners.enumerated().map { index, owner in
            var draft = NotificationDraft(
                id: "\(index)", expiry: .at(noon.adding(seconds: 3_600)))
            draft.owner = owner
            draft.message = "m"
            return Change.publishNotification(draft)
        }
        for outcome in try leader.store.apply(changes, asOf: noon) {
            guard case .published = outcome else { throw TestFailure("\(outcome)") }
        }
        try leader.ship()
        try follower.follow()
        for owner in owners {
            #expect(try follower.store.changes(of: owner, from: .beginning).changes.count == 1)
        }
        #expect(follower.store.feedWatch.wakeCount == 2)
        withExtendedLifetime(registrations) {}
    }
}
