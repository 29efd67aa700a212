import BlobStore
import FeedModel
import Glibc
import TestSupport

/// Does random things to the notifications of 50 owners, with four devices each that read the feed
/// at their own pace, and compares everything with a model.
struct FeedScenario: Scenario {
    static let about = About(
        "feed", "Feeds: does every device learn of every change, once?",
        """
        The library does it, without a daemon. For each seed a store with a log is changed and swept; again and again
        it continues with the files that a kill in the middle would have left. Every page is compared with the model;
        whenever it is quiet every device's copy must be what its owner has.
        """)

    @Setting(20, short: 1, "How many seeds, from --seed on.") var seeds: Int
    @Setting(50_000, short: 500, "Operations for each seed.") var operations: Int

    func torture(_ bench: inout Workbench) throws -> [String] {
        let lives = 20
        var (pages, changes) = (0, UInt64(0))
        for seed in bench.seed..<bench.seed + UInt64(seeds) {
            do {
                var play = FeedPlay(seed: seed)
                for life in 0..<lives {
                    // A cursor outlives them.
                    let folder = "\(bench.folder)/\(seed)-\(life)"
                    if life == 0 { mkdir(folder, 0o755) }
                    let store = try BlobStore.open(at: folder, options: FeedPlay.options)
                    try store.beginLogging()
                    try play.run(operations / lives, in: store)
                    let report = try store.verify()
                    try require(report.isClean, "verify: \(report)")
                    // Of these some are in the log only.
                    try play.change(1 + bench.generator.below(60), in: store)
                    try copy(folder, to: "\(bench.folder)/\(seed)-\(life + 1)", log: bench.log)
                }
                pages += play.pageCount
                changes += play.revision
            } catch {
                throw TestFailure("seed \(seed): \(error)")
            }
            for life in 0...lives { Files.remove("\(bench.folder)/\(seed)-\(life)") }
            if !bench.isShort { say("seed \(seed): right") }
        }
        return [
            "\(seeds) seeds of \(operations) operations", "\(changes) changes",
            "\(pages) pages compared", "\(seeds * lives) kills",
        ]
    }
}
