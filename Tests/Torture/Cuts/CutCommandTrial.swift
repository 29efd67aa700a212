import FoundationEssentials
import Glibc
import TestSupport

/// Runs `blobd restore` or `blobd compact` again and again, each time to another moment.
struct CutCommandTrial {
    private let command: CutCommand
    private let source: CutSource
    private let folder: String
    private let blobd: String
    private let log: String

    init(_ command: CutCommand, of source: CutSource, in folder: String, blobd: String, log: String)
    {
        self.command = command
        self.source = source
        self.folder = folder
        self.blobd = blobd
        self.log = log
    }

    private var changes: [String: [SentChange]] {
        command == .restore ? source.backedUp : source.stored
    }

    private func words(_ data: String) -> [String] {
        switch command {
        case .restore: [blobd, "restore", source.backup, "--data", data]
        case .compact: [blobd, "compact", "--data", data]
        }
    }

    /// A folder with what the command finds.
    private func prepare(_ name: String) throws -> String {
        let path = "\(folder)/\(name)"
        try require(mkdir(path, 0o700) == 0, "\(path): \(TestSupport.words(errno))")
        guard command == .compact else { return path }
        for file in Files.names(in: source.store) {
            try FileManager.default.copyItem(
                atPath: "\(source.store)/\(file)", toPath: "\(path)/\(file)")
        }
        return path
    }

    // MARK: - Power cuts

    /// Records one run, and has `count` images of it checked.
    func cut(
        _ count: Int, _ recorder: Recorder, _ jury: inout CutJury,
        using generator: inout SeededGenerator
    ) throws {
        try require(mkdir(folder, 0o700) == 0, "\(folder): \(TestSupport.words(errno))")
        let data = try prepare("data")
        _ = try prepare("before")
        let base = try BaseFile.all(Files.names(in: data), in: data, copies: "\(folder)/before")
        let own = try Recorder(recorder, folder: folder)
        try runToTheEnd(data, prefix: own.prefix(watching: data))
        try jury.check(
            count, of: own.trace, on: base, changes,
            starts: [0..<Trace.byteCount(at: own.trace)], mayBeAbsent: command == .restore,
            in: folder, "\(command): ", using: &generator)
    }

    // MARK: - Kills

    /// Kills it at random moments.
    ///
    /// - Returns: how often the store was whole then. A restored one is absent otherwise.
    func kill(_ count: Int, using generator: inout SeededGenerator) throws -> Int {
        let begin = Clock.milliseconds()
        let data = try prepare("timed")
        try runToTheEnd(data)
        let microseconds = max(1, Clock.milliseconds() - begin) * 1_000
        Files.remove(data)
        var wholeCount = 0
        for number in 0..<count {
            let data = try prepare("killed-\(number)")
            let pause = generator.below(microseconds * 11 / 10)
            let pid = try spawn(words(data), output: .file(log), errors: .output)
            Clock.pause(microseconds: pause)
            Glibc.kill(pid, SIGKILL)
            reap(pid)
            let isWhole = CutImage.isThere(in: data)
            wholeCount += isWhole ? 1 : 0
            // A second one goes on where the first has left rubbish.
            if command == .compact ? generator.chance(50) : !isWhole { try runToTheEnd(data) }
            do {
                _ = try CutImage(data, 0, changes).check()
            } catch {
                throw TestFailure("\(command) that was killed after \(pause) µs: \(error)")
            }
            Files.remove(data)
        }
        return wholeCount
    }

    private func runToTheEnd(_ data: String, prefix: [String] = []) throws {
        let ending = try runToEnd(prefix + words(data), log: log)
        try require(ending == .exited(0), "\(command) ended with \(ending)")
    }
}
