import ArgumentParser
import BlobClient
import FoundationEssentials
import Glibc
import TestSupport

/// Cuts the power at many moments of a recorded run, and looks whether the daemon kept its word.
struct CutsScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "cuts",
        abstract: "Power cuts: what may be on the disk then is opened and compared.",
        discussion: """
            Everything a daemon does to its folder under publishers is recorded, also when it is \
            killed and started again. For many moments of the recording the folder is made as a \
            power cut may leave it: what a sync covers is there; of the rest any part is, in \
            sectors of 512 bytes. Each image must open, verify, have every acknowledged change, \
            take a publish, and be whole when it is opened again. The seed repeats the choices; \
            the recording is another one each time, so it is kept when an image is not right.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How many images. With --short: 60, or 150 with syncs ignored.")
    var rounds: Int?

    @Option(help: "How many publish at the same time.")
    var publishers = 6

    @Option(help: "How many daemons are recorded, each but the last one killed. With --short: 2.")
    var lives: Int?

    @Option(
        help: """
            How many images a daemon lives on, for a while, to be cut again: two in five of the \
            images are of such lives. With --short: 2.
            """)
    var again: Int?

    @Flag(
        help: """
            Let fdatasync and fsync cover nothing once the first daemon serves, and pass as soon \
            as an image is found that is not right; fail when none is.
            """)
    var ignoreSyncs = false

    @Flag(help: "The same for writes through a descriptor opened with O_DSYNC.")
    var ignoreSyncedWrites = false

    @Option(help: ArgumentHelp("With the two flags: of this file only.", valueName: "name"))
    var ignoreOf: String?

    var secondsMax: UInt32 { UInt32(clamping: 180 + count) }

    private var ignoresSome: Bool { ignoreSyncs || ignoreSyncedWrites }
    // Enough to find a fault surely; behind some it ends.
    private var count: Int { rounds ?? (options.short ? (ignoresSome ? 150 : 60) : 1_000) }
    private var lifeCount: Int { lives ?? (options.short ? 2 : 4) }
    private var againCount: Int {
        ignoresSome ? 0 : again ?? max(2, count / 50)
    }

    func validate() throws {
        guard count > 0, lifeCount > 0, publishers > 0 else {
            throw ValidationError("--rounds, --lives and --publishers are at least 1")
        }
        guard ignoreOf == nil || ignoresSome else {
            throw ValidationError("--ignore-of goes with --ignore-syncs or --ignore-synced-writes")
        }
    }

    func torture(_ bench: inout Workbench) throws -> [String] {
        try withMemoryFolder("torture-cuts", isKept: options.keep) { memory, isKept in
            try torture(&bench, in: memory, &isKept)
        }
    }

    private func torture(
        _ bench: inout Workbench, in memory: String, _ isKept: inout Bool
    ) throws -> [String] {
        let recorder = try Recorder(folder: memory, log: bench.log)
        try require(mkdir(bench.data, 0o750) == 0, "\(bench.data): \(words(errno))")
        var plan = CutRecording.Plan()
        (plan.publisherCount, plan.lives) = (publishers, lifeCount)
        if options.short { plan.milliseconds = 300...700 }
        var recording = CutRecording(recorder, of: try withoutLinks(bench.data), plan)
        try recording.record(&bench)
        say(
            "cuts: recorded \(Trace.byteCount(at: recorder.trace) >> 20) MiB, "
                + "\(recording.ledger.acknowledgedCount) acknowledged changes")

        var trial = CutTrial(
            folder: memory,
            ignored: IgnoredSyncs(
                calls: ignoreSyncs, writes: ignoreSyncedWrites, file: ignoreOf,
                from: recording.ready))
        defer { isKept = isKept || trial.faultyPlan != nil && !trial.ignored.isAny }
        let secondCount = againCount == 0 ? 0 : count * 2 / 5
        try trial.check(
            recording, count - secondCount, in: memory, using: &bench.generator)
        plan.milliseconds = 20...100
        plan.lives = 1
        for number in 0..<againCount where trial.faults.isEmpty {
            plan.firstLife = 100 + number
            let images = secondCount * (number + 1) / againCount - secondCount * number / againCount
            try trial.checkAgain(
                recording, images, number: number, plan, &bench)
        }
        return try verdict(trial)
    }

    private func verdict(_ trial: CutTrial) throws -> [String] {
        let figures = [
            "\(trial.imageCount) images", "\(trial.slotCount) places",
            "\(trial.acknowledgedCount) acknowledged notifications compared",
            "\(trial.imageCount * 1_000 / max(1, trial.checkMilliseconds)) images a second",
        ]
        if trial.ignored.isAny {
            try require(!trial.faults.isEmpty, "no image was wrong, where some had to be")
            return [
                "as expected, \(trial.faults.count) of the images were wrong: \(trial.faults[0])"
            ] + figures
        }
        if let plan = trial.faultyPlan {
            throw TestFailure(
                "images were wrong:\n  \(trial.faults.joined(separator: "\n  "))\n  "
                    + "one of them again: blobd-torture cuts-check \(plan) --from N --count 1 "
                    + "--keep-image")
        }
        return figures
    }
}
