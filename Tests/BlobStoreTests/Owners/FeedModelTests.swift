import BlobStore
import FeedModel
import TestSupport
import Testing

/// The store beside a model of it, and devices that read the feed between all changes.
@Suite struct FeedModelTests {
    @Test(
        "Every device's copy is what its owner has, whatever happens and however it reads",
        arguments: 0..<4)
    func model(number: Int) throws {
        let seed = testSeed(UInt64(25 + number))
        print("feed model: seed \(seed)")
        let folder = TemporaryFolder()
        var play = FeedPlay(seed: seed)
        do {
            for _ in 0..<3 {
                let store = try BlobStore.open(at: folder.path, options: FeedPlay.options)
                try play.run(500, in: store)
                #expect(try store.verify().isClean)
            }
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
    }
}
