import BlobStore
import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// Whether a snapshot has what a request reads, while changes are acknowledged and not committed. No
/// sockets.
@Suite struct SnapshotReadinessTests {
    private let folder: TemporaryFolder
    private let store: BlobStore

    init() throws {
        folder = TemporaryFolder()
        store = try BlobStore.open(at: folder.path)
        try store.beginLogging()
    }

    @discardableResult
    private func publish(_ id: String, owner: String) throws -> Digest {
        var writer = store.makePayloadWriter()
        try writer.append(Array(id.utf8).span.bytes)
        let payload = try writer.finish(mediaType: "text/plain")
        let publication = Publication(
            id: id, payload: payload, owner: owner, expiry: .after(seconds: 60))
        return try #require(try store.publish(publication, asOf: .now).parts.first).digest
    }

    private func readiness(
        of reads: Reads, _ name: String = "", in snapshot: borrowing Snapshot
    ) -> Readiness {
        store.readiness(of: reads, name.utf8.span.bytes, in: snapshot)
    }

    @Test func `what is pending is waited for, and the rest is ready`() throws {
        try publish("1", owner: "anna")
        let snapshot = try store.makeSnapshot()
        #expect(readiness(of: .notification, "1", in: snapshot) == .pendingCommit)
        #expect(readiness(of: .owner, "anna", in: snapshot) == .pendingCommit)
        #expect(readiness(of: .everything, in: snapshot) == .pendingCommit)
        #expect(readiness(of: .notification, "2", in: snapshot) == .ready)
        #expect(readiness(of: .owner, "bert", in: snapshot) == .ready)
        #expect(readiness(of: .nothing, in: snapshot) == .ready)
    }

    @Test func `a snapshot from before a commit is stale for all that is read`() throws {
        try publish("1", owner: "anna")
        let snapshot = try store.makeSnapshot()
        try store.commitPending()
        for reads in [Reads.notification, .owner, .everything] {
            #expect(readiness(of: reads, "1", in: snapshot) == .staleSnapshot)
        }
        #expect(readiness(of: .nothing, in: snapshot) == .ready)
        let next = try store.makeSnapshot()
        #expect(readiness(of: .notification, "1", in: next) == .ready)
        #expect(readiness(of: .everything, in: next) == .ready)
    }

    @Test func `a blob is pending by its digest`() throws {
        let published = try publish("1", owner: "anna")
        let snapshot = try store.makeSnapshot()
        let other = try #require(Digest("sha256:" + String(repeating: "07", count: 32)))
        #expect(store.readiness(of: published, in: snapshot) == .pendingCommit)
        #expect(store.readiness(of: other, in: snapshot) == .ready)
        try store.commitPending()
        #expect(store.readiness(of: other, in: snapshot) == .staleSnapshot)
    }
}
