import ArgumentParser
import BlobStore
import FeedModel
import FoundationEssentials
import Glibc
import TestSupport

/// Does random things to the notifications of 50 owners, with four devices each that read the feed
/// at their own pace, and compares everything with a model.
struct FeedScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "feed",
        abstract: "Feeds: does every device learn of every change, once?",
        discussion: """
            The library does it, without a daemon. For each seed a store is changed, swept and \
            opened again, and a second one is changed by another process that is killed. Every \
            page is compared with the model; whenever it is quiet every device's copy must be \
            what its owner has.
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
        var pages = 0
        var changes: UInt64 = 0
        var continued = 0
        for seed in bench.seed..<bench.seed + UInt64(seeds) {
            do {
                var play = FeedPlay(seed: seed)
                let folder = "\(bench.folder)/whole-\(seed)"
                // Several lives: a cursor outlives them.
                for _ in 0..<5 {
                    let store = try Self.open(folder)
                    try play.run(operations / 5, in: store)
                    try Self.verify(store)
                }
                pages += play.pageCount
                changes += play.revision
                let after = options.short ? 1_000 : min(operations / 10, 5_000)
                for life in 0..<UInt64(options.short ? 4 : 1) {
                    let seed = seed &+ life << 32
                    if try Self.kill(seed, bench, after: after, &bench.generator) { continued += 1 }
                }
            } catch {
                throw TestFailure("seed \(seed): \(error)")
            }
            if !options.short { say("seed \(seed): right") }
        }
        return [
            "\(seeds) seeds of \(operations) operations", "\(changes) changes",
            "\(pages) pages compared", "\(continued) went on behind a kill",
        ]
    }

    static func open(_ folder: String) throws -> BlobStore {
        mkdir(folder, 0o755)
        return try BlobStore.open(at: folder, options: FeedPlay.options)
    }

    private static func verify(_ store: BlobStore) throws {
        let report = try store.verify()
        try require(report.isClean, "verify: \(report)")
    }

    /// Another process plays, and is killed. The same seed is played again beside it, up to the
    /// same change; then the devices go on with the store that was killed.
    ///
    /// - Returns: false when the kill fell into an operation of several transactions, where the
    ///   model has no such state.
    private static func kill(
        _ seed: UInt64, _ bench: borrowing Workbench, after count: Int,
        _ generator: inout SeededGenerator
    ) throws -> Bool {
        let folder = "\(bench.folder)/killed-\(seed)"
        mkdir(folder, 0o755)
        let log = "\(bench.folder)/life-\(seed)"
        let pid = try spawn(
            [
                "setpriv", "--pdeathsig", "KILL", "--", CommandLine.arguments[0], "feed-life",
                folder, "\(seed)", "\(count)",
            ], output: .file(log), errors: .output)
        let milliseconds = generator.logarithmic(30...3_000)
        Clock.pause(microseconds: milliseconds * 1_000)
        Glibc.kill(pid, SIGKILL)
        reap(pid)
        let store = try open(folder)
        try verify(store)
        let revision = try store.statistics().revision
        let said = lastLine(of: log)
        try require(
            revision >= said, "the change \(said) was on disk, and now the last is \(revision)")
        var play = FeedPlay(seed: seed)
        try play.run(count, in: try open("\(folder)-again"), until: revision)
        guard play.revision == revision else { return false }
        try play.run(max(300, count / 10), in: store)
        try verify(store)
        return true
    }

    private static func lastLine(of path: String) -> UInt64 {
        // The last line may have been cut short.
        let lines = Files.text(path).split(separator: "\n", omittingEmptySubsequences: false)
            .dropLast()
        return lines.compactMap { UInt64($0) }.max() ?? 0
    }
}

/// The process that ``FeedScenario`` kills.
struct FeedLife: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "feed-life", shouldDisplay: false)

    @Argument var folder: String
    @Argument var seed: UInt64
    @Argument var count: Int

    func run() throws {
        var play = FeedPlay(seed: seed) { revision in
            // In one call, so that a line is there or not.
            let line = Array("\(revision)\n".utf8)
            _ = write(1, line, line.count)
        }
        try play.run(count, in: try FeedScenario.open(folder))
    }
}
