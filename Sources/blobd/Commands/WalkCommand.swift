import ArgumentParser
import BlobServer
import BlobStore
import CLinux
import Glibc

/// What ``StoreWalk`` starts: walks a store and says what it finds, in the lines of ``WalkLines``.
/// It is nothing for people.
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
        } catch let failure as CommandFailure {
            try StandardOutput.write(WalkLines.failed(failure.message))
        } catch {
            try StandardOutput.write(WalkLines.failed("\(error)"))
        }
    }

    private func walk(_ position: WalkPosition) throws {
        var options = BlobStore.Options()
        options.ignoresLog = true
        options.walkPosition = position
        let store = try BlobStore.openReadOnly(at: data, options: options)
        var nextLine = ContinuousClock.now
        var told = VerifyReport()
        let report: VerifyReport
        do {
            report = try store.verify(
                .bytes, goesOnBehindDamage: true, found: { Self.report($0, &told) }
            ) { progress in
                guard ContinuousClock.now >= nextLine else { return }
                nextLine = .now + .milliseconds(100)
                try? StandardOutput.write(
                    WalkLines.bytes(max(0, progress.bytes), of: max(0, progress.byteCount)))
            }
        } catch {
            throw CommandFailure(.refused, "\(data) cannot be verified: \(error)")
        }
        Self.report(report, &told)
        try StandardOutput.write(WalkLines.end(report))
    }

    /// Says what was found since the last time: those of the pages come first.
    private static func report(_ report: VerifyReport, _ told: inout VerifyReport) {
        for index in told.problems.count..<report.problems.count {
            let line = WalkLines.problem(
                report.problems[index], ofPages: index < report.pageProblemCount)
            try? StandardOutput.write(line)
        }
        told = report
    }
}
