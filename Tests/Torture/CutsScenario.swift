import BlobClient
import Glibc
import TestSupport

/// Cuts the power at many moments of a recorded run, and looks whether the daemon kept its word.
struct CutsScenario: Scenario {
    static let about = About(
        "cuts", "Power cuts: what may be on the disk then is opened and compared.",
        """
        Everything that a daemon does to its folder under publishers is recorded, also when it is killed and
        started again, with and without its write-ahead log. For many moments of the recording the folder is made as
        a power cut may leave it: what a sync covers is there; of the rest any part is, in sectors of 512 bytes. Each
        image must open, verify, have every acknowledged change, take a publish, and be whole when it is opened again.
        The seed repeats the choices; the recording differs each time, so it is kept when an image is not right.
        """)

    @Setting(1_000, short: 60, "How many images.") var rounds: Int
    @Setting(6, "How many publish at the same time.") var publishers: Int
    @Setting(4, short: 2, "How many daemons are recorded, each but the last one killed.")
    var lives: Int
    @Setting(20, short: 2, "How many images a daemon lives on and is cut again, for 2 in 5 images.")
    var again: Int
    @Setting(
        false,
        "Let fdatasync and fsync cover nothing once the first daemon serves, and pass as soon as an image is wrong."
    )
    var ignoreSyncs: Bool
    @Setting(false, "Likewise for writes through a descriptor opened with O_DSYNC.")
    var ignoreSyncedWrites: Bool
    @Setting("", "With the two flags: of this file only.") var ignoreOf: String

    private var ignoresSome: Bool { ignoreSyncs || ignoreSyncedWrites }

    func torture(_ bench: inout Workbench) throws -> [String] {
        try withMemoryFolder("torture-cuts", isKept: bench.isKept) { memory, isKept in
            try torture(&bench, in: memory, &isKept)
        }
    }

    private func torture(
        _ bench: inout Workbench, in memory: String, _ isKept: inout Bool
    ) throws -> [String] {
        let recorder = try Recorder(folder: memory, log: bench.log)
        try require(mkdir(bench.data, 0o750) == 0, "\(bench.data): \(words(errno))")
        var plan = CutRecording.Plan(publisherCount: publishers, lives: lives)
        if bench.isShort { plan.milliseconds = 300...700 }
        var recording = CutRecording(recorder, of: try withoutLinks(bench.data), plan)
        try recording.record(&bench)
        let begin = Clock.milliseconds()
        say(
            "cuts: recorded \(Trace.byteCount(at: recorder.trace) >> 20) MiB, "
                + "\(recording.ledger.acknowledgedCount) acknowledged changes")

        var jury = CutJury(
            ignoring: IgnoredSyncs(
                calls: ignoreSyncs, writes: ignoreSyncedWrites,
                file: ignoreOf.isEmpty ? nil : ignoreOf, from: recording.ready),
            untilFaults: 5)
        defer { isKept = isKept || jury.faultyPlan != nil && !ignoresSome }
        // With syncs ignored, enough to find a fault surely.
        let count = ignoresSome ? max(150, rounds) : rounds
        let againCount = ignoresSome ? 0 : again
        let secondCount = againCount == 0 ? 0 : count * 2 / 5
        try jury.check(
            count - secondCount, of: recorder.trace, recording.ledger.changes,
            starts: recording.starts, in: memory, using: &bench.generator)
        plan.milliseconds = 20...100
        plan.lives = 1
        for number in 0..<againCount where jury.faults.isEmpty {
            plan.firstLife = 100 + number
            let images = secondCount * (number + 1) / againCount - secondCount * number / againCount
            try checkAgain(recording, images, "\(memory)/again-\(number)", plan, &jury, &bench)
        }
        let took = max(1, Clock.milliseconds() - begin)
        let figures = [
            "\(jury.imageCount) images", "\(jury.placeCount) places",
            "\(jury.acknowledgedCount) acknowledged notifications compared",
            "\(jury.imageCount * 1_000 / took) images a second",
        ]
        if ignoresSome {
            try require(!jury.faults.isEmpty, "no image was wrong, where some had to be")
            return ["as expected, \(jury.faults.count) were wrong: \(jury.faults[0])"] + figures
        }
        try require(
            jury.faults.isEmpty,
            "images were wrong:\n  \(jury.faults.joined(separator: "\n  "))\n  "
                + "one of them again: blobd-torture cuts-check \(jury.faultyPlan ?? "") N 1 1 keep")
        return figures
    }

    /// Cuts a recording once, lets a daemon live on what is left, and checks `count` images of that life: the power
    /// fails while it recovers, and afterwards.
    private func checkAgain(
        _ recording: CutRecording, _ count: Int, _ folder: String, _ plan: CutRecording.Plan,
        _ jury: inout CutJury, _ bench: inout Workbench
    ) throws {
        for path in [folder, "\(folder)/base"] {
            try require(mkdir(path, 0o700) == 0, "\(path) cannot be made: \(words(errno))")
        }
        let history = try DiskHistory(Trace(recording.recorder.trace))
        let cuts = CutPlan.cuts(3, history, starts: recording.starts, using: &bench.generator)
        guard let cut = cuts.randomElement(using: &bench.generator) else {
            throw TestFailure("nothing was recorded")
        }
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
        try jury.check(
            count, of: again.recorder.trace, on: files, again.ledger.changes,
            starts: again.starts, in: folder, story, using: &bench.generator)
        if jury.faults.isEmpty { Files.remove(folder) }
    }
}
