import BlobStore
import FeedModel
import TestSupport
import Testing

/// The store beside a model of it, and devices that read the feed between all changes.
@Suite struct FeedModelTests {
    /// One store has no log. The other one acknowledges what is in its log, is killed again and again in the middle
    /// of changes, and goes on with the files that the kill leaves. Both do the same.
    @Test(
        "Every device's copy is what its owner has, whatever happens, with a log and kills and without",
        arguments: 0..<4)
    func model(number: Int) throws {
        let seed = testSeed(UInt64(25 + number))
        print("feed model: seed \(seed)")
        let plainFolder = TemporaryFolder()
        var folder = TemporaryFolder()
        let hasQuotas = !number.isMultiple(of: 2)
        var (play, plain) = (
            FeedPlay(seed: seed, hasQuotas: hasQuotas), FeedPlay(seed: seed, hasQuotas: hasQuotas)
        )
        let other = try BlobStore.open(at: plainFolder.path, options: FeedPlay.options)
        do {
            for life in 0..<5 {
                let store = try BlobStore.open(at: folder.path, options: FeedPlay.options)
                try store.beginLogging()
                try play.run(300, in: store)
                try plain.run(300, in: other)
                // Of these some are pending.
                try play.change(20, in: store)
                try plain.change(20, in: other)
                folder = try folder.copy(withMarks: life.isMultiple(of: 2))
                let copy = try BlobStore.open(at: folder.path, options: FeedPlay.options)
                #expect(try copy.verify().problems == [], "seed \(seed), life \(life)")
                // What one transaction stores and drops again is no orphan.
                let (left, right) = (
                    try copy.contents().withoutOrphans, try other.contents().withoutOrphans
                )
                #expect(left.difference(from: right) == [], "seed \(seed), life \(life)")
            }
            #expect(try other.verify().problems == [])
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
    }
}
