import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Conditions on parts were judged in a snapshot before the change came to the store, so that of two
/// publishers who asked for the same at once both could win. They are judged in the transaction.
@Suite struct ConditionTests {
    private func digest(_ bytes: [UInt8], in store: BlobStore) throws -> Digest {
        try store.prepare(bytes).digest
    }

    private func named(_ digests: [Digest], _ revisions: [UInt64] = []) -> EntityTagSet {
        .named(revisions: revisions, digests: digests)
    }

    private func publication(
        _ store: BlobStore, _ bytes: [UInt8], part: String = "payload", id: String? = "a",
        _ condition: Condition
    ) throws -> Change {
        var publication = try store.publication(id, bytes, part: part)
        publication.condition = condition
        return .publish(publication)
    }

    /// What each of `outcomes` is, in a letter: `c`reated, `r`eplaced, `d`eleted, `n`ot found, `p`:
    /// the condition does not hold, `x` for anything else.
    private func letters(_ outcomes: [Outcome]) -> String {
        outcomes.map { outcome in
            switch outcome {
            case .published(_, let created): created ? "c" : "r"
            case .deleted: "d"
            case .notFound: "n"
            case .refused(.preconditionFailed): "p"
            default: "x"
            }
        }.joined()
    }

    @Test("Each condition holds when it should, and says what is there when it does not")
    func each() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        let (one, two) = (try digest([1], in: store), try digest([2], in: store))
        let first = try store.put("a", [1])
        try store.put("a", [2], part: "icon")
        let revision = first.revision + 1
        let notIt: [(Condition, part: String, holds: Bool)] = [
            (.none, "payload", true), (.exists, "payload", true), (.absent, "payload", false),
            (.exists, "sound", false), (.absent, "sound", true),
            (.revisions([9, revision]), "payload", true), (.revisions([]), "payload", false),
            (.revisions([first.revision]), "payload", false),
            // The notification is as it was said, whatever the part.
            (.revisions([revision]), "sound", true),
            (.tags(match: named([one]), noneMatch: nil), "payload", true),
            (.tags(match: named([two]), noneMatch: nil), "payload", false),
            (.tags(match: named([two]), noneMatch: nil), "icon", true),
            (.tags(match: named([one, two]), noneMatch: nil), "sound", false),
            (.tags(match: named([two], [revision]), noneMatch: nil), "payload", true),
            (.tags(match: named([one], [1_000]), noneMatch: nil), "payload", true),
            (.tags(match: nil, noneMatch: named([one])), "payload", false),
            (.tags(match: nil, noneMatch: named([two])), "payload", true),
            (.tags(match: nil, noneMatch: named([two], [revision])), "payload", false),
            (.tags(match: nil, noneMatch: named([one, two])), "sound", true),
            (.tags(match: named([one]), noneMatch: named([two])), "payload", true),
            (.tags(match: .any, noneMatch: named([one])), "payload", false),
            (.tags(match: .any, noneMatch: .any), "payload", false),
            (.tags(match: .any, noneMatch: .any), "sound", false),
        ]
        let live = try #require(try store.record(for: "a", asOf: noon))
        for (condition, part, holds) in notIt {
            var state: PresentState?
            do throws(StoreError) {
                try condition.check(live, part: part)
            } catch {
                if case .preconditionFailed(let present) = error { state = present }
            }
            #expect((state == nil) == holds, "\(condition), \(part)")
            guard let state else { continue }
            let found = live.part(named: part)?.digest
            #expect(state == PresentState(revision: revision, digest: found, part: part))
        }
        let words = [
            PresentState(revision: nil), PresentState(revision: 3),
            PresentState(revision: 3, digest: one), PresentState(revision: 3, part: "icon"),
            PresentState(revision: 3, digest: one, part: "icon"),
        ].map { StoreError.preconditionFailed($0).description }
        #expect(
            words == [
                "the notification does not exist", "the notification has the revision 3",
                "the notification has the revision 3, and its payload is \(one)",
                "the notification has the revision 3 and no part icon",
                "the notification has the revision 3, and its part icon is \(one)",
            ])
    }

    @Test(
        "Of many in one batch the first wins, in the log and without one", arguments: [false, true])
    func batch(isLogging: Bool) throws {
        let folder = TemporaryFolder()
        let store = try isLogging ? folder.openLogging() : folder.open()
        let old = try digest([0], in: store)
        let tags = Condition.tags(match: named([old]), noneMatch: nil)
        var outcomes = try store.apply(
            (1...4).map { try publication(store, [UInt8($0)], .absent) }, asOf: noon)
        #expect(letters(outcomes) == "cppp")
        outcomes = try store.apply(
            [
                publication(store, [0], .none), publication(store, [5], tags),
                publication(store, [6], tags), publication(store, [7], part: "icon", .absent),
                publication(store, [8], part: "icon", .absent),
                .remove(Removal(id: "a", condition: tags)),
            ], asOf: noon)
        #expect(letters(outcomes) == "rrpcpp")
        let icon = Condition.tags(match: named([try digest([7], in: store)]), noneMatch: nil)
        outcomes = try store.apply(
            [
                publication(store, [9], part: "icon", icon),
                publication(store, [10], part: "icon", icon),
                // A removal's digest is the payload's.
                .remove(Removal(id: "a", condition: icon)),
                .remove(
                    Removal(
                        id: "a",
                        condition: .tags(
                            match: named([try digest([5], in: store)]), noneMatch: nil))),
                .remove(Removal(id: "a", condition: .exists)),
                publication(store, [11], .exists), publication(store, [11], .absent),
            ], asOf: noon)
        #expect(letters(outcomes) == "rppdppc")
        let found = try folder.withCopy { copy in
            try copy.ownedPayload(for: "a", asOf: noon)
        }
        #expect(found == [11])
    }

    /// A batch in which something fails in the middle is undone, and its changes are tried one by
    /// one. Each is judged by what those before it made.
    @Test(
        "A batch that is retried change by change judges each anew", arguments: [false, true])
    func retried(isLogging: Bool) throws {
        let folder = TemporaryFolder()
        let store = try isLogging ? folder.openLogging() : folder.open()
        // A damaged record fails each change of it.
        try store.damageRecord("bad")
        let first = try store.put("a", [0])
        let tags = Condition.tags(match: named([try digest([0], in: store)]), noneMatch: nil)
        var patch = NotificationPatch(id: "a")
        patch.isRead = .set(true)
        patch.condition = .revisions([first.revision])
        let outcomes = try store.apply(
            [
                publication(store, [1], tags), publication(store, [2], tags), .patch(patch),
                publication(store, [3], id: "new", .absent), .delete(id: "bad"),
                publication(store, [4], id: "new", .absent), publication(store, [5], .absent),
                .delete(id: "new"), publication(store, [6], id: "new", .absent),
            ], asOf: noon)
        #expect(letters(outcomes) == "rppcxppdc")
        let found = try folder.withCopy { copy in
            try ["a", "new"].map { try copy.ownedPayload(for: $0, asOf: noon) }
        }
        #expect(found == [[1], [6]])
    }

    @Test("What is written ahead is refused before it is written, and judged again behind it")
    func staged() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        let bytes = [UInt8](repeating: 7, count: StoreLimits.stagedByteCountMin + 1)
        let payload = try store.prepare(bytes, mediaType: "image/png")
        var publication = Publication(id: "a", payload: payload, expiry: .after(seconds: 60))
        publication.condition = .exists
        let before = try store.counters()
        let refused = try store.apply([.publish(publication)], asOf: noon)
        #expect(letters(refused) == "p")
        #expect(try store.counters() == before)
        publication.condition = .absent
        let taken = try store.apply([.publish(publication), .publish(publication)], asOf: noon)
        #expect(letters(taken) == "cp")
    }

    @Test("What has expired is not there, and an id that the store chooses is new")
    func expired() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        try store.put("a", [1], seconds: 1)
        let later = noon.adding(seconds: 1)
        func at(_ moment: Timestamp, _ condition: Condition, id: String? = "a") throws -> String {
            var publication = try store.publication(id, [2], expiry: .after(seconds: 1))
            publication.condition = condition
            return letters(try store.apply([.publish(publication)], asOf: moment))
        }
        let tags = Condition.tags(match: named([try digest([1], in: store)]), noneMatch: nil)
        #expect(try at(later, .exists) == "p")
        #expect(try at(later, tags) == "p")
        #expect(try at(later, .absent) == "c")
        #expect(try at(later, .absent, id: nil) == "c")
        #expect(try at(later, .exists, id: nil) == "p")
        // The number of the one that was refused was not used up.
        #expect(try store.put(nil, [3]).id == "1")
    }
}
