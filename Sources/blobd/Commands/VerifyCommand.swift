import ArgumentParser
import BlobServer
import BlobStore
import CLinux
import Glibc

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check a store: all counters, references and bytes.",
        discussion: """
            Changes nothing; a daemon may be running. Checks every page, checksum, digest, counter and \
            reference, and whether the write-ahead log (changes.log) is missing, truncated or from another \
            store. Prints how many acknowledged changes are only in that log.

            The store may be on a read-only file system, and the daemon in another container.

            Exit codes: 0 no problem, 1 the store is damaged, 2 bad usage, 5 it could not be checked.

              blobd verify --data ./data
              blobd verify --data ./data --json | jq .problems
            """)

    @Option(help: .named("dir", "The store's directory."), completion: .directory)
    var data: String

    @Flag(help: "Print the report as JSON.")
    var json = false

    func run() throws {
        let watch = Stopwatch()
        let report = try walk()
        let seconds = watch.seconds
        try StandardOutput.write(
            json
                ? try JSONLine.object([
                    "clean": report.isClean, "notifications": report.notifications,
                    "parts": report.parts, "blobs": report.blobs, "orphans": report.orphans,
                    "evicted_blobs": report.evictedBlobs, "bytes_stored": report.bytesStored,
                    "changes_in_log": report.changesInLog,
                    "problem_count": report.problemCount, "problems": report.problems,
                    "seconds": seconds,
                ]) : Self.text(report, seconds: seconds), orExit: .notChecked)
        guard report.isClean else {
            for problem in report.problems { StandardError.write("blobd: \(problem)\n") }
            throw CommandFailure(
                .refused, "\(data) is damaged: \(Self.problems(report))")
        }
    }

    /// Returns all problems. The walk runs in another process, because reading a damaged page may kill it with a
    /// signal, which is then one of the problems.
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
                // Find the page, if that is possible without liblmdb.
                let pages = BlobStore.whileLocked(data) { try? BlobStore.checkPages(at: data) }
                if case .some(.some(let pages)) = pages { walk.report.add(pages: pages) }
            }
        } catch {
            throw CommandFailure(.notChecked, "\(data) cannot be verified: \(error)")
        }
        switch walk.ending {
        case .done, .died: break
        case .damaged(let why): throw CommandFailure(.refused, why)
        case .failed(let why): throw CommandFailure(.notChecked, why)
        case .killed(let signal, let position):
            let reason =
                "\(data) was not checked to the end: \(signal) ended the check at \(position)"
                + (signal == "SIGKILL"
                    ? "; is there a limit of memory? It needs about 150 bytes a payload" : "")
            // What was found is damage all the same.
            guard walk.report.isClean else {
                StandardError.write("blobd: \(reason)\n")
                break
            }
            throw CommandFailure(.notChecked, reason)
        }
        return walk.report
    }

    private static func problems(_ report: VerifyReport) -> String {
        HumanText.count(report.problemCount, of: "problem")
    }

    private static func text(_ report: VerifyReport, seconds: Double) -> String {
        let verdict = report.isClean ? "clean" : "damaged, \(Self.problems(report))"
        return "\(verdict): \(HumanText.count(report.notifications)) notifications, "
            + "\(HumanText.count(report.parts)) parts, \(HumanText.count(report.blobs)) blobs, "
            + "\(HumanText.count(report.orphans)) orphans, "
            + (report.evictedBlobs == 0
                ? "" : "\(HumanText.count(report.evictedBlobs)) only in the bucket, ")
            + (report.changesInLog == 0
                ? ""
                : "\(HumanText.count(report.changesInLog)) acknowledged only in the write-ahead log, ")
            + "\(HumanText.bytes(report.bytesStored)) read in \(seconds) s\n"
    }
}

/// Started by ``StoreWalk``: walks a store and reports in the lines of ``WalkLines``. Not for interactive use.
struct WalkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: StoreWalk.commandName, abstract: "Check a store's pages for another process.",
        shouldDisplay: false)

    @Option var data: String

    func run() throws {
        clinux_die_with_parent()
        let memory = mmap(
            nil, WalkPosition.byteCount, PROT_READ | PROT_WRITE, MAP_SHARED,
            Int32(CLINUX_STARTED_MEMORY), 0)
        guard let memory, memory != MAP_FAILED else {
            throw CommandFailure(.badUsage, "\(StoreWalk.commandName) is started by other commands")
        }
        do {
            try walk(WalkPosition(memory))
        } catch {
            try StandardOutput.write(line(error))
        }
    }

    private func line(_ error: any Error) -> String {
        switch error as? StoreError {
        case .damaged: WalkLines.damaged("\(error)")
        case .corrupt: WalkLines.damaged("\(data) cannot be verified: \(error)")
        case .cannotOpen: WalkLines.failed("\(error)")
        default: WalkLines.failed("\(data) cannot be verified: \(error)")
        }
    }

    private func walk(_ position: WalkPosition) throws {
        var options = BlobStore.Options()
        options.ignoresLog = true
        options.walkPosition = position
        let store = try BlobStore.openReadOnly(at: data, options: options)
        var nextLine = ContinuousClock.now
        var told = VerifyReport()
        let report = try store.verify(
            .bytes, continuesPastDamage: true, found: { Self.report($0, &told) }
        ) { progress in
            guard ContinuousClock.now >= nextLine else { return }
            nextLine = .now + .milliseconds(100)
            try? StandardOutput.write(
                WalkLines.bytes(max(0, progress.bytes), of: max(0, progress.byteCount)))
        }
        Self.report(report, &told)
        try StandardOutput.write(WalkLines.end(report))
    }

    private static func report(_ report: VerifyReport, _ told: inout VerifyReport) {
        for index in told.problems.count..<report.problems.count {
            let line = WalkLines.problem(
                report.problems[index], ofPages: index < report.pageProblemCount)
            try? StandardOutput.write(line)
        }
        told = report
    }
}
