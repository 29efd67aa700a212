import TestSupport
import Testing

@testable import BlobStore

extension TemporaryFolder {
    func openReplicated(
        _ change: (inout BlobStore.Options) -> Void = { _ in }
    ) throws -> BlobStore {
        try open {
            $0.isReplicated = true
            change(&$0)
        }
    }

    /// A store that leads the first epoch of a shard.
    func openLeader(
        _ change: (inout BlobStore.Options) -> Void = { _ in }
    ) throws -> BlobStore {
        let store = try openReplicated(change)
        try store.lead(
            epoch: 1, nonce: .random(), after: .start, isFirst: true, asOf: noon)
        return store
    }

    /// Opens the files as a kill at this moment would leave them.
    func afterKill<Result>(_ body: (BlobStore) throws -> Result) throws -> Result {
        let copy = try copy()
        return try body(try copy.openReplicated())
    }
}

extension LogPosition {
    /// A name of a log without contents.
    static func name(_ number: UInt64) -> LogPosition {
        LogPosition(number: number, hash: LogPosition.start.hash)
    }
}

extension BlobStore {
    /// Writes a state as it is, and whatever `body` does besides.
    func overwriteState(
        _ state: ReplicationState?,
        _ body: (inout ChangeTransaction) throws(StoreError) -> Void = { _ in }
    ) throws {
        try pipeline.change(asOf: noon, isPublishing: true) { (transaction) throws(StoreError) in
            if let state { try transaction.set(state) }
            try body(&transaction)
        }
    }

    /// How many batches the outbox has, shipped ones too.
    func outboxCount() throws -> Int {
        try entries(of: core.tables.index).count { $0.key.first == IndexKeys.outboxPrefix }
    }
}

/// A bucket as a leader's store sees it: what was shipped, and at which name.
struct ShippedLog {
    private(set) var batches: [UInt64: [UInt8]] = [:]
    /// The last batch at each name.
    private(set) var sequences: [UInt64: UInt64] = [0: 0]
    private var number: UInt64 = 0

    /// Ships some of what waits.
    mutating func ship(_ store: BlobStore, byteCountMax: Int = 1 << 30) throws {
        let found = try store.outbox(
            after: store.shippedSequence, byteCountMax: byteCountMax)
        guard let last = found.last else { return }
        for batch in found {
            for blob in batch.blobs { _ = try store.storedBytes(of: blob) }
            batches[batch.sequence] = batch.bytes
        }
        number += 1
        sequences[number] = last.sequence
        store.noteShipped(last.sequence, byteCount: 0, at: .name(number))
    }

    /// Checks that a store that was opened again can go on where the log of its position ends: what it says is
    /// shipped is, all others are there to the byte, and so are their blobs.
    func check(_ store: BlobStore, upTo last: UInt64, _ comment: Comment? = nil) throws {
        let state = try #require(store.replicationState)
        #expect(sequences[state.position.number] == state.sequence, comment)
        #expect(store.lastSequence == last, comment)
        let rest = try store.outbox(after: state.sequence, byteCountMax: .max)
        #expect(rest.map(\.sequence) == Array(state.sequence + 1..<last + 1), comment)
        for batch in rest {
            if let shipped = batches[batch.sequence] {
                #expect(batch.bytes == shipped, "batch \(batch.sequence)")
            }
            for blob in batch.blobs {
                #expect(throws: Never.self, "a blob of batch \(batch.sequence)") {
                    try store.storedBytes(of: blob)
                }
            }
        }
    }
}
