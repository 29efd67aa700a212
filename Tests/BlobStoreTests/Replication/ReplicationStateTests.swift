import TestSupport
import Testing

@testable import BlobStore

/// What a store says of its part in a shard.
@Suite struct ReplicationStateTests {
    private let folder = TemporaryFolder()

    /// Only the last nonce was remembered. A start that was interrupted twice while it took the lead found an
    /// epoch of its own, took it for another store's, and nobody led.
    @Test("Every run is known as the store's own until its fence is in the log")
    func runs() throws {
        var store = try folder.openLeader()
        let first = try #require(store.replicationState).nonce
        var runs = [first]
        for _ in 0..<3 {
            let nonce = try store.prepareToLead(nonce: .random(), asOf: noon)
            #expect(store.replicationState?.nonce == nonce)
            runs.append(nonce)
            // Its lead is as it was.
            #expect(store.replicationState?.role == .leader && store.lastSequence == 1)
            let copy = try folder.copy()
            #expect(try copy.openReplicated().replicationState?.nonces == runs)
        }
        #expect(runs.allSatisfy { store.isOwn($0) } && !store.isOwn(.random()))
        // Again: nothing is written.
        let transaction = try store.lastTransaction()
        #expect(try store.prepareToLead(nonce: runs[1], asOf: noon) == runs[3])
        #expect(try store.lastTransaction() == transaction)
        // Where as many are remembered as may be, none is forgotten: the newest is used again.
        while runs.count < ReplicationState.nonceCountMax {
            runs.append(try store.prepareToLead(nonce: .random(), asOf: noon))
        }
        #expect(try store.prepareToLead(nonce: .random(), asOf: noon) == runs.last)
        #expect(store.replicationState?.nonces == runs)
        try store.lead(
            epoch: 2, nonce: runs[5], behind: .name(3), isFirst: false, asOf: noon)
        #expect(store.replicationState?.nonces == [runs[5]])
        #expect(store.replicationState?.epoch == 2 && store.lastSequence == 2)
        // No epoch begins twice.
        #expect(throws: StoreError.self) {
            try store.lead(
                epoch: 2, nonce: runs[5], behind: .name(3), isFirst: false, asOf: noon)
        }
        let copy = try folder.copy()
        store = try copy.openReplicated()
        #expect(store.replicationState?.nonces == [runs[5]])
    }

    @Test("A follower prepares to lead, and goes on following")
    func follower() throws {
        let store = try folder.openLeader()
        store.noteShipped(1, byteCount: 0, at: .name(2))
        try store.stepDown(to: .follower)
        let nonce = try store.prepareToLead(nonce: .random(), asOf: noon)
        let state = try #require(store.replicationState)
        #expect(state.role == .follower && state.nonce == nonce && state.nonces.count == 2)
        #expect(state.position == .name(2) && state.sequence == 1)
    }

    /// A kill between the first epoch and the lead left an epoch in the bucket that the store did not know.
    @Test("A store that was about to begin a shard knows its run, and belongs to none")
    func candidate() throws {
        var store = try folder.open()
        let nonce = try store.prepareToLead(nonce: .random(), asOf: noon)
        #expect(store.isOwn(nonce) && store.replicationState == nil)
        try store.put("a", [1])
        let copy = try folder.copy()
        store = try copy.open()
        #expect(store.isOwn(nonce) && store.replicationState == nil)
        #expect(try store.verify().problems == [])
        let second = try store.prepareToLead(nonce: .random(), asOf: noon)
        try store.lead(epoch: 1, nonce: nonce, behind: .start, isFirst: true, asOf: noon)
        #expect(store.isOwn(nonce) && !store.isOwn(second))
        #expect(store.replicationState?.role == .leader && store.lastSequence == 1)
        #expect(try store.outbox(after: 0, byteCountMax: .max).map(\.sequence) == [1])
    }
}
