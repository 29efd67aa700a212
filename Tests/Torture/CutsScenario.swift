import ArgumentParser
import BlobClient
import FoundationEssentials
import Glibc

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

    @Option(help: "How many images. With --short: 60.")
    var rounds: Int?

    @Option(help: "How many publish at the same time.")
    var publishers = 6

    @Option(help: "How many daemons are recorded, each but the last one killed. With --short: 2.")
    var lives: Int?

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

    /// Recorded bytes at most: they are kept in memory.
    static let traceByteCountMax = 512 << 20

    private var count: Int { rounds ?? (options.short ? 60 : 1_000) }
    private var lifeCount: Int { lives ?? (options.short ? 2 : 4) }

    func validate() throws {
        guard count > 0, lifeCount > 0, publishers > 0 else {
            throw ValidationError("--rounds, --lives and --publishers are at least 1")
        }
        guard ignoreOf == nil || ignoreSyncs || ignoreSyncedWrites else {
            throw ValidationError("--ignore-of goes with --ignore-syncs or --ignore-synced-writes")
        }
    }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let memory = try Self.memoryFolder()
        var isKept = options.keep
        defer {
            if isKept {
                say("kept: \(memory)")
            } else {
                try? FileManager.default.removeItem(atPath: memory)
            }
        }
        let recorder = try Recorder(folder: memory, log: bench.log)
        var recording = CutRecording(
            recorder: recorder, publisherCount: publishers,
            milliseconds: options.short ? 300...700 : 800...1_500)
        try recording.record(lifeCount, &bench)
        let byteCount = Trace.byteCount(at: recorder.trace)
        try require(
            byteCount <= Self.traceByteCountMax,
            "the recording has \(byteCount) bytes; the limit is \(Self.traceByteCountMax)")

        let ignored = IgnoredSyncs(
            calls: ignoreSyncs, writes: ignoreSyncedWrites, file: ignoreOf, from: recording.ready)
        let history = try DiskHistory(Trace(recorder.trace), ignoring: ignored)
        let cuts = CutPlan.cuts(
            count, history, after: recording.ready, starts: recording.starts,
            using: &bench.generator)
        let plan = CutPlan(
            trace: recorder.trace, folder: memory, ignored: ignored,
            changes: recording.ledger.changes, cuts: cuts)
        try plan.write(to: "\(memory)/plan")
        say(
            "cuts: recorded \(byteCount >> 20) MiB, \(history.syncEdges.count / 4) syncs, "
                + "\(recording.ledger.acknowledgedCount) acknowledged changes")

        var jury = CutJury(plan: "\(memory)/plan", cuts: cuts, history: history)
        let begin = Clock.milliseconds()
        try jury.check(inFolder: memory, untilFaults: ignored.isAny ? 20 : 5)
        let rate = jury.imageCount * 1_000 / max(1, Clock.milliseconds() - begin)
        let figures = [
            "\(jury.imageCount) images", "\(Set(cuts.map(\.place)).count) places",
            "\(jury.acknowledgedCount) acknowledged notifications compared",
            "\(rate) images a second",
        ]
        if ignored.isAny {
            try require(!jury.faults.isEmpty, "no image was wrong, where some had to be")
            return ["as expected, \(jury.faults.count) of the images were wrong: \(jury.faults[0])"]
                + figures
        }
        isKept = isKept || !jury.faults.isEmpty
        try require(
            jury.faults.isEmpty,
            "images were wrong:\n  \(jury.faults.joined(separator: "\n  "))\n  "
                + "one of them again: blobd-torture cuts-check \(memory)/plan --from N --count 1 "
                + "--keep-image")
        return figures
    }

    /// A folder in memory where there is such a thing: thousands of images are made.
    private static func memoryFolder() throws -> String {
        let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(parent)/torture-cuts-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw Failure("no folder could be made: \(words(errno))")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
