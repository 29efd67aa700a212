import BlobJSON
import Glibc
import TestSupport
import Testing

@testable import BlobStore

/// Batches that are acknowledged once they are in the log.
@Suite struct LoggedChangesTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.openLogging() }

    @Test(
        "Acknowledged, a change is in the log and in no snapshot; committed, it is in all of them")
    func acknowledged() throws {
        try store.put("old", [9])
        try store.commitPending()
        #expect(!store.pendingChanges.isPending && store.pendingKeys.isEmpty)
        let commitCount = store.pendingKeys.commitCount
        try store.put("a", [1])
        try store.delete("old", asOf: noon)
        let pendingKeys = store.pendingChanges
        #expect(pendingKeys.isPending && !pendingKeys.isAwaited)
        #expect(pendingKeys.batchCount == 2)
        #expect(pendingKeys.byteCount == 2 * LogRecord.alignment)
        #expect(!store.pendingKeys.isEmpty)
        #expect(store.mayBeUnsettled("a") && store.mayBeUnsettled("old"))
        #expect(!store.mayBeUnsettled("b"))
        let found = (try store.lookUp("a"), try store.lookUp("old"))
        #expect(found == (.missing, .found))
        do {
            let snapshot = try store.makeSnapshot()
            let isCurrent = snapshot.isCurrent
            #expect(isCurrent)
            try store.commitPending()
            let isCurrentStill = snapshot.isCurrent
            #expect(!isCurrentStill)
        }
        #expect(store.pendingKeys.commitCount == commitCount + 1)
        #expect(store.pendingChanges.batchCount == 0 && store.pendingKeys.isEmpty)
        #expect(!store.mayBeUnsettled("a"))
        let after = (try store.lookUp("a"), try store.lookUp("old"))
        #expect(after == (.found, .missing))
        // Nothing pending: no commit.
        let snapshot = try store.makeSnapshot()
        try store.commitPending()
        let isCurrent = snapshot.isCurrent
        #expect(isCurrent)
    }

    @Test("What changes nothing writes nothing")
    func nothing() throws {
        #expect(try !store.delete("none", asOf: noon))
        #expect(!store.pendingChanges.isPending)
        try store.put("a", [1])
        let before = store.pendingChanges.byteCount
        let outcomes = try store.apply(
            [.delete(id: "none"), .publish(try store.publication("a/b", [1]))], asOf: noon)
        #expect(outcomes.allSatisfy { !$0.isDone })
        #expect(store.pendingChanges.byteCount == before)
        #expect(store.pendingChanges.isPending)
        // Nor has it spoilt what is open.
        try store.put("b", [2])
        try folder.withCopy { copy in
            let found1 = try copy.counters().notifications
            #expect(found1 == 2)
        }
    }

    @Test("A watcher of an owner is notified at the commit, and counts as waiting")
    func awaited() throws {
        let registration = try store.feedWatch.register(Array("anna".utf8)) {}
        #expect(registration.wait(behind: 0))
        _ = try store.apply([.publish(try store.publication("a", [1], owner: "ben"))], asOf: noon)
        #expect(!store.pendingChanges.isAwaited)
        _ = try store.apply([.publish(try store.publication("b", [1], owner: "anna"))], asOf: noon)
        #expect(store.pendingChanges.isAwaited)
        _ = try store.apply([.publish(try store.publication("c", [1], owner: "ben"))], asOf: noon)
        #expect(store.pendingChanges.isAwaited)
        try store.commitPending()
        #expect(!store.pendingChanges.isAwaited)
        #expect(try store.changes(of: "anna", from: .beginning).changes.map(\.id) == ["b"])
    }

    @Test("A kill while the log is done again leaves a log that is done again")
    func redoneTwice() throws {
        for number in 0..<5 { try store.put("\(number)", [1]) }
        let copy = try folder.copy()
        // What the next opening commits, with the log as it was.
        do { _ = try copy.open() }
        let again = try copy.open()
        #expect(try again.counters().notifications == 5)
        // Committed once, its records belong to the past.
        try again.delete("1", asOf: noon)
        let last = try copy.withCopy { try $0.counters() }
        #expect(last.notifications == 4)
    }

    @Test("Left without a commit and opened again in the same process, it has everything")
    func dropped() throws {
        let folder = TemporaryFolder()
        do {
            let store = try folder.openLogging()
            try store.put("a", [1])
        }
        let store = try folder.openLogging()
        #expect(try store.lookUp("a") == .found)
        #expect(store.pendingKeys.isEmpty && !store.pendingChanges.isPending)
        // Nothing of it is done again later.
        try store.delete("a", asOf: noon)
        try folder.withCopy { copy in
            let found6 = try copy.lookUp("a")
            #expect(found6 == .missing)
        }
    }
}
