import Testing

@testable import BlobStore

/// What a process remembers of damage until the store has it.
@Suite struct QuarantineTests {
    private let quarantine = Quarantine()
    private let blob = Golden.blob

    private func close() {
        quarantine.close(
            DamagedBlob(
                number: blob.number, digest: blob.digest, foundAt: Timestamp(milliseconds: 1)))
    }

    @Test("Damage that could not be noted is known still, and the blob is not refused meanwhile")
    func reopened() {
        quarantine.confirm(blob, chunkCount: 2)
        close()
        #expect(quarantine.contains(7) && !quarantine.isNoted(7))
        quarantine.reopen(7)
        #expect(!quarantine.contains(7) && quarantine.isDamaged(7))
        #expect(quarantine.confirmed.map(\.blob.number) == [7])
        close()
        quarantine.finish(blob, in: 3, chunkCount: 2)
        #expect(quarantine.isNoted(7) && quarantine.confirmed.isEmpty)
        #expect(quarantine.takeUnreported().map(\.transaction) == [3])
    }

    @Test("A blob that is mended before its damage is noted is damaged no more")
    func opened() {
        quarantine.confirm(blob, chunkCount: 1)
        quarantine.open(7)
        #expect(!quarantine.isDamaged(7) && quarantine.confirmed.isEmpty)
    }

    @Test("What is noted of one blob forgets nothing of another that cannot be shipped")
    func unshippable() {
        var other = blob
        other.number = 8
        quarantine.confirm(blob, chunkCount: 1)
        quarantine.noteUnshippable(other)
        close()
        quarantine.finish(blob, in: 3, chunkCount: 1)
        #expect(quarantine.takeUnshippable().map(\.number) == [8])
        #expect(quarantine.takeUnshippable().isEmpty)
    }
}
