import ArgumentParser
import BlobStore
import FeedModel
import Glibc
import TestSupport

/// Does random things to the notifications of 50 owners, with four devices each that read the feed
/// at their own pace, and compares everything with a model.
struct FeedScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "feed",
        abstract: "Feeds: does every device learn of every change, once?",
        discussion: """
            The library does it, without a daemon. For each seed a store with a log is changed and swept; \
            again and again it goes on with the files that a kill in the middle would have left. Every page is \
            compared with the model; whenever it is quiet every device's copy must be what its owner has.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many seeds, from --seed on. With --short: 1.")
    var seeds: Int?

    @Option(help: "Operations for each seed. With --short: 500.")
    var operations: Int?

    var secondsMax: UInt32 { 3_600 }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let seeds = seeds ?? (options.short ? 1 : 20)
        let operations = operations ?? (options.short ? 500 : 50_000)
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
                    // Of these some are in the log alone.
                    try play.change(1 + bench.generator.below(60), in: store)
                    let next = "\(bench.folder)/\(seed)-\(life + 1)"
                    let end = try runToEnd(["cp", "-r", folder, next], log: bench.log)
                    try require(end == .exited(0), "the files were not copied: \(end)")
                }
                pages += play.pageCount
                changes += play.revision
            } catch {
                throw TestFailure("seed \(seed): \(error)")
            }
            for life in 0...lives { Files.remove("\(bench.folder)/\(seed)-\(life)") }
            if !options.short { say("seed \(seed): right") }
        }
        return [
            "\(seeds) seeds of \(operations) operations", "\(changes) changes",
            "\(pages) pages compared", "\(seeds * lives) kills",
        ]
    }
}
