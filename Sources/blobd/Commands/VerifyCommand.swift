import ArgumentParser
import BlobServer
import BlobStore
import Glibc

/// `blobd verify`: checks a store, beside a daemon or alone.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check a store: all counters, references and bytes.",
        discussion: """
            Opens the store read-only and changes nothing. A daemon may run at the same time. Checks \
            the pages of every table, the checksum of every chunk, the SHA-256 of every payload, and \
            every counter and reference. A child process reads the pages, so an unreadable page is \
            reported like any other problem. Prints how many acknowledged changes are only in the \
            write-ahead log (changes.log): the daemon's next commit writes them to the store, or the \
            next start replays them. Reports a log that is missing, truncated or from another store.
            Exit code 0: no problem. 1: the store is damaged.

              blobd verify --data ./data
              blobd verify --data ./data --json | jq .problems
            """)

    @Option(help: ArgumentHelp("The store's directory.", valueName: "dir"))
    var data: String

    @Flag(help: "Print the report as JSON.")
    var json = false

    func run() throws {
        let start = ContinuousClock.now
        let report = try walk()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        try StandardOutput.write(
            json
                ? try JSONLine.text(VerifyDocument(report, seconds: seconds))
                : Self.text(report, seconds: seconds))
        guard report.isClean else {
            for problem in report.problems { StandardError.write("blobd: \(problem)\n") }
            throw CommandFailure(
                .refused, "\(data) is damaged: \(Self.problems(report))")
        }
    }

    /// What is wrong. The walk is done by another process, because a damaged page may end who
    /// reads it by a signal: that is one of the problems then.
    private func walk() throws(CommandFailure) -> VerifyReport {
        var status = stat()
        guard stat(data, &status) == 0 else {
            throw CommandFailure(.badUsage, "\(data): \(errorText(errno))")
        }
        var bar = ProgressBar("verifying")
        defer { bar.finish() }
        var walk: StoreWalk
        do {
            walk = try StoreWalk.run(data) { bar.update($0, of: $1) }
            if case .died = walk.ending, walk.report.pageProblemCount == 0 {
                // Which page it was, where that can be told without liblmdb.
                let pages = BlobStore.whileLocked(data) { try? BlobStore.checkPages(at: data) }
                if case .some(.some(let pages)) = pages { walk.report.add(pages: pages) }
            }
        } catch {
            throw CommandFailure(.refused, "\(data) cannot be verified: \(error)")
        }
        if case .failed(let why) = walk.ending { throw CommandFailure(.refused, why) }
        return walk.report
    }

    private static func problems(_ report: VerifyReport) -> String {
        report.problemCount == 1 ? "1 problem" : "\(HumanText.count(report.problemCount)) problems"
    }

    private static func text(_ report: VerifyReport, seconds: Double) -> String {
        let verdict =
            report.isClean
            ? "clean" : "damaged, \(Self.problems(report))"
        return "\(verdict): \(HumanText.count(report.notifications)) notifications, "
            + "\(HumanText.count(report.parts)) parts, \(HumanText.count(report.blobs)) blobs, "
            + "\(HumanText.count(report.orphans)) orphans, "
            + (report.evictedBlobs == 0
                ? "" : "\(HumanText.count(report.evictedBlobs)) in the bucket alone, ")
            + (report.changesInLog == 0
                ? ""
                : "\(HumanText.count(report.changesInLog)) acknowledged only in the write-ahead log, ")
            + "\(HumanText.bytes(report.bytesStored)) read in \((seconds * 1_000).rounded() / 1_000) s\n"
    }
}

/// What `verify --json` prints.
private struct VerifyDocument: Encodable {
    var clean: Bool
    var notifications, parts, blobs, orphans: Int
    var evictedBlobs: Int
    var bytesStored: Int
    var changesInLog: Int
    var problemCount: Int
    var problems: [String]
    var seconds: Double

    init(_ report: VerifyReport, seconds: Double) {
        clean = report.isClean
        notifications = report.notifications
        parts = report.parts
        blobs = report.blobs
        orphans = report.orphans
        evictedBlobs = report.evictedBlobs
        bytesStored = report.bytesStored
        changesInLog = report.changesInLog
        problemCount = report.problemCount
        problems = report.problems
        self.seconds = (seconds * 1_000).rounded() / 1_000
    }
}
