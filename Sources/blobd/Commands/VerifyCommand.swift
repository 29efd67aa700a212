import ArgumentParser
import BlobServer
import BlobStore
import Glibc

/// `blobd verify`: checks a store, beside a daemon or alone.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check a store: recount everything, read every byte.",
        discussion: """
            Opens the store for reading only, also while a daemon serves from it, and changes nothing. \
            Walks the pages of every table, and compares every chunk with its checksum, every \
            payload with its SHA-256, and every count and reference with what is there. Another \
            process does it, so that a page that cannot be read is a problem among others. Says how \
            many acknowledged changes are only in the log (changes.log), which the next commit or \
            start takes over, and reports a log that is missing, cut short or another store's. \
            Exit code 0: all is well; 1: the store is damaged.

              blobd verify --data ./data
              blobd verify --data ./data --json | jq .problems
            """)

    @Option(help: ArgumentHelp("The store's folder.", valueName: "dir"))
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
            walk = try StoreWalk.run(data, .bytes) { bar.update($0, of: $1) }
            if case .died = walk.ending, walk.report.pageProblemCount == 0 {
                // Which page it was, where that can be told without liblmdb.
                let pages = try BlobStore.whileLocked(data) { try StoreWalk.run(data, .pages) }
                if let pages { walk.report.add(pages: pages.report) }
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
            + (report.changesInLog == 0
                ? "" : "\(HumanText.count(report.changesInLog)) acknowledged only in the log, ")
            + "\(HumanText.bytes(report.bytesStored)) read in \((seconds * 1_000).rounded() / 1_000) s\n"
    }
}

/// What `verify --json` prints.
private struct VerifyDocument: Encodable {
    var clean: Bool
    var notifications, parts, blobs, orphans: Int
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
        bytesStored = report.bytesStored
        changesInLog = report.changesInLog
        problemCount = report.problemCount
        problems = report.problems
        self.seconds = (seconds * 1_000).rounded() / 1_000
    }
}
