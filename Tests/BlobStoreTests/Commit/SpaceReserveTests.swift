import LMDB
import TestSupport
import Testing

@testable import BlobStore

/// Room is allocated before it is needed, also where some was given back.
@Suite struct SpaceReserveTests {
    /// What a trim had given back once still counted as allocated: the next change found no room at the
    /// end of a full disk in the middle of its commit.
    @Test("What was given back to the disk is allocated again before it is written to")
    func trimmed() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        let growth = 12 << 20
        try store.pipeline.space.prepare(growth: 2 * growth)
        let grown = store.pipeline.space.fileByteCount
        // Room for what was asked for lately is kept.
        for _ in 0..<3 { store.pipeline.space.trim() }
        #expect(store.pipeline.space.fileByteCount < grown - growth)
        try store.pipeline.space.prepare(growth: growth)
        let needed = store.core.environment.usedByteCount + growth + StoreLimits.reserveByteCount
        #expect(store.pipeline.space.fileByteCount >= needed)
    }
}
