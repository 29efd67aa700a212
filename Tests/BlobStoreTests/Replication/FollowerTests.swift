import TestSupport
import Testing

@testable import BlobStore

/// A store that does again what a leader shipped.
@Suite struct FollowerTests {
    /// Every batch was budgeted with as much room as a single change may take, and all of a segment at once: a
    /// follower that was behind applied nothing where a thirtieth of that was free.
    @Test("Many small batches are applied in steps that fit")
    func tight() throws {
        let (leaderFolder, folder) = (TemporaryFolder(), TemporaryFolder())
        let leader = try leaderFolder.openLeader()
        try leader.beginLogging()
        for number in 0..<1_000 { try leader.put("\(number % 40)", [UInt8(number & 255)]) }
        try leader.endLogging()
        let items = try leader.outbox(after: 0, byteCountMax: .max).map { batch in
            (
                batch: batch,
                contents: try batch.blobs.map { try leader.storedBytes(of: $0)[...] }
            )
        }
        #expect(items.count > 1_000)
        do {
            let store = try folder.openReplicated()
            try store.overwriteState(
                ReplicationState(
                    role: .follower, epoch: 1, nonce: .random(), position: .start, sequence: 0))
        }
        let follower = try folder.openReplicated { $0.mapByteCountMax = 8 << 20 }
        try follower.apply(items, of: 1, at: .name(7))
        #expect(follower.lastSequence == leader.lastSequence)
        #expect(follower.replicationState?.position == .name(7))
        for id in 0..<40 {
            #expect(
                try follower.ownedPayload(for: "\(id)", asOf: noon)
                    == leader.ownedPayload(for: "\(id)", asOf: noon))
        }
        // Again, as after an answer that was lost, and with a gap.
        try follower.apply(items, of: 1, at: .name(7))
        var gap = items
        gap.remove(at: 4)
        let other = TemporaryFolder()
        do {
            let store = try other.openReplicated()
            try store.overwriteState(
                ReplicationState(
                    role: .follower, epoch: 1, nonce: .random(), position: .start, sequence: 0))
        }
        let second = try other.openReplicated()
        let error = try failure { try second.apply(gap, of: 1, at: .name(7)) }
        #expect(error.isCorrupt && second.lastSequence == 0)
    }
}
