import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Conditions on parts were judged in a snapshot before the change came to the store, so that of two
/// publishers who asked for the same at once both could win. They are judged in the transaction.
@Suite struct ConditionTests {
    private let folder = TemporaryFolder()

    /// That the payload, or the part, is these bytes.
    private func tag(_ bytes: [UInt8], in store: BlobStore) throws -> Condition {
        let digests = [try store.prepare(bytes).digest]
        return .tags(match: .named(revisions: [], digests: digests), noneMatch: nil)
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

    @Test(
        "Of many in one batch the first wins, in the log and without one", arguments: [false, true])
    func batch(isLogging: Bool) throws {
        let store = try isLogging ? folder.openLogging() : folder.open()
        let tags = try tag([0], in: store)
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
        let icon = try tag([7], in: store)
        outcomes = try store.apply(
            [
                publication(store, [9], part: "icon", icon),
                publication(store, [10], part: "icon", icon),
                // A removal's digest is the payload's.
                .remove(Removal(id: "a", condition: icon)),
                .remove(Removal(id: "a", condition: tag([5], in: store))),
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
        let store = try isLogging ? folder.openLogging() : folder.open()
        // A damaged record fails each change of it.
        try store.damageRecord("bad")
        let first = try store.put("a", [0])
        let tags = try tag([0], in: store)
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
        let store = try folder.open()
        try store.put("a", [1], seconds: 1)
        let later = noon.adding(seconds: 1)
        func at(_ moment: Timestamp, _ condition: Condition, id: String? = "a") throws -> String {
            var publication = try store.publication(id, [2], expiry: .after(seconds: 1))
            publication.condition = condition
            return letters(try store.apply([.publish(publication)], asOf: moment))
        }
        let tags = try tag([1], in: store)
        #expect(try at(later, .exists) == "p")
        #expect(try at(later, tags) == "p")
        #expect(try at(later, .absent) == "c")
        #expect(try at(later, .absent, id: nil) == "c")
        #expect(try at(later, .exists, id: nil) == "p")
        // The number of the one that was refused was not used up.
        #expect(try store.put(nil, [3]).id == "1")
    }
}
