import ArgumentParser
import BlobStore

/// `blobd verify`: checks a store, beside a daemon or alone.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check a store: recount everything, read every byte.",
        discussion: """
            Opens the store for reading only, also while a daemon serves from it, and changes nothing. \
            Compares every chunk with its checksum, every payload with its SHA-256, and every count \
            and reference with what is there. Says how many acknowledged changes are only in the log \
            (changes.log), which the next commit or start takes over, and reports a log that is \
            missing, cut short or another store's. Exit code 0: all is well; 1: the store is \
            damaged.

              blobd verify --data ./data
              blobd verify --data ./data --json | jq .problems
            """)

    @Option(help: ArgumentHelp("The store's folder.", valueName: "dir"))
    var data: String

    @Flag(help: "Print the report as JSON.")
    var json = false

    func run() throws {
        let start = ContinuousClock.now
        let store = try LocalStore.open(data, ignoringLog: true)
        var bar = ProgressBar("verifying")
        defer { bar.finish() }
        let report: VerifyReport
        do {
            report = try store.verify { progress in
                bar.update(UInt64(max(0, progress.bytes)), of: UInt64(max(0, progress.byteCount)))
            }
        } catch {
            bar.finish()
            throw CommandFailure(.refused, "\(data) cannot be verified: \(error)")
        }
        bar.finish()
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
