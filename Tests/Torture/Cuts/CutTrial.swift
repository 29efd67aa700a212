import FoundationEssentials
import Glibc
import TestSupport

/// Checks the images of recordings, and keeps account of what was found.
struct CutTrial {
    /// A folder in memory, where traces and images are.
    let folder: String
    let ignored: IgnoredSyncs

    /// Behind so many faults a recording is not looked at any more.
    private static let faultCountMax = 5

    private(set) var imageCount = 0
    private(set) var acknowledgedCount = 0
    private(set) var slotCount = 0
    private(set) var faults: [String] = []
    /// Where the plan of the first fault is.
    private(set) var faultyPlan: String?
    private(set) var checkMilliseconds = 0

    init(folder: String, ignored: IgnoredSyncs) {
        self.folder = folder
        self.ignored = ignored
    }

    /// Checks `count` images of a recording, whose trace lies in a folder of its own.
    ///
    /// - Parameters:
    ///   - base: what was there before.
    mutating func check(
        _ recording: CutRecording, on base: [BaseFile] = [], _ count: Int,
        in folder: String, _ what: String = "", using generator: inout SeededGenerator
    ) throws {
        let begin = Clock.milliseconds()
        let jury = try CutJury.check(
            count, of: recording.recorder.trace, on: base, ignoring: ignored,
            recording.ledger.changes, starts: recording.starts, in: folder,
            untilFaults: Self.faultCountMax, using: &generator)
        checkMilliseconds += Clock.milliseconds() - begin
        imageCount += jury.imageCount
        acknowledgedCount += jury.acknowledgedCount
        slotCount += Set(jury.cuts.map(\.place)).count
        if faults.isEmpty, !jury.faults.isEmpty { faultyPlan = "\(folder)/plan" }
        faults += jury.faults.map { what + $0 }
    }

    /// Cuts a recording once, lets a daemon live on what is left, and checks `count` images of that
    /// life: the power fails while it recovers, and afterwards.
    mutating func checkAgain(
        _ recording: CutRecording, _ count: Int, number: Int,
        _ plan: CutRecording.Plan, _ bench: inout Workbench
    ) throws {
        let folder = "\(folder)/again-\(number)"
        for path in [folder, "\(folder)/base"] { try makeFolder(path) }
        let history = try DiskHistory(Trace(recording.recorder.trace))
        guard
            let cut = CutPlan.cuts(
                3, history, starts: recording.starts, using: &bench.generator
            ).randomElement(using: &bench.generator)
        else { throw TestFailure("nothing was recorded") }
        var disk = try CutDisk(
            history, Trace(recording.recorder.trace), on: [], base: "\(folder)/base")
        var remains = CutDisk.Remains()
        for copy in ["before", "data"] {
            // The same seed leaves the same.
            var generator = SeededGenerator(seed: cut.seed)
            remains = try disk.cut(at: cut.place, into: "\(folder)/\(copy)", using: &generator)
        }
        let files = try BaseFile.all(
            remains.names, in: "\(folder)/data", copies: "\(folder)/before")
        let story = "after a cut at \(cut.place), with \(remains.words), and a life on that, "
        let before = recording.ledger.changes.mapValues {
            Expectation($0, at: cut.place).before
        }
        var again = CutRecording(
            try Recorder(recording.recorder, folder: folder),
            of: try withoutLinks("\(folder)/data"), plan, before)
        do {
            try again.record(&bench)
        } catch {
            throw TestFailure(story + "\(error)")
        }
        // Cut at its start and behind it alike.
        try check(
            again, on: files, count, in: folder, story, using: &bench.generator)
        if faults.isEmpty { try? FileManager.default.removeItem(atPath: folder) }
    }

    private func makeFolder(_ path: String) throws {
        try require(mkdir(path, 0o700) == 0, "\(path) cannot be made: \(words(errno))")
    }
}
