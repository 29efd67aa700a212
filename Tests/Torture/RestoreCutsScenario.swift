import ArgumentParser
import BlobClient
import FoundationEssentials
import Glibc
import TestSupport

/// Ends restores and compactions at any moment: by a kill, and by a power cut.
struct RestoreCutsScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "restore-cuts",
        abstract: "Kills and power cuts during restore and compact: whole or absent.",
        discussion: """
            A daemon is published to, backed up, published to again and killed, so that some of it is \
            in the write-ahead log alone. What a restore or a compaction does to its folder is \
            recorded, and the folder made as a power cut at many moments may leave it (see cuts). A \
            restored store is absent or has all of the backup; a compacted one has all that was \
            acknowledged. The same for kills; then it is done again, to the end. The backup and the \
            store that was compacted, as a copy, stay as they were.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "Images of each of the two. With --short: 40.")
    var rounds: Int?

    @Option(help: "Kills of each of the two. With --short: 6.")
    var kills: Int?

    @Option(help: "Notifications. With --short: 120.")
    var notifications: Int?

    @Flag(
        help: "Let fsync and fdatasync cover nothing, and pass as soon as an image is wrong.")
    var ignoreSyncs = false

    var secondsMax: UInt32 { UInt32(clamping: 300 + imageCount + killCount * 4) }

    private var imageCount: Int { rounds ?? (options.short ? 40 : 1_000) }
    private var killCount: Int { ignoreSyncs ? 0 : kills ?? (options.short ? 6 : 200) }

    func torture(_ bench: inout Workbench) throws -> [String] {
        try withMemoryFolder("torture-restore", isKept: options.keep) { memory, isKept in
            try torture(&bench, in: memory, &isKept)
        }
    }

    private func torture(
        _ bench: inout Workbench, in memory: String, _ isKept: inout Bool
    ) throws -> [String] {
        var source = CutSource(
            folder: memory, count: notifications ?? (options.short ? 120 : 1_000))
        try source.make(&bench)
        let before = try Self.fingerprint(source.backup)
        let recorder = try Recorder(folder: memory, log: bench.log)
        var figures: [String] = []
        var faults: [String] = []
        for command in [CutCommand.restore, .compact] {
            let trial = CutCommandTrial(
                command, of: source, in: "\(memory)/\(command)", blobd: bench.blobd, log: bench.log)
            let jury = try trial.cut(
                imageCount, recorder, ignoring: IgnoredSyncs(calls: ignoreSyncs),
                using: &bench.generator)
            faults += jury.faults.map { "\(command): \($0)" }
            let killed = try trial.kill(killCount, using: &bench.generator)
            figures += [
                "\(command): \(jury.imageCount) images, \(jury.acknowledgedCount) notifications compared, \(killed.count) killed, \(killed.wholeCount) of them whole"
            ]
        }
        try require(try Self.fingerprint(source.backup) == before, "the backup is another one now")
        if ignoreSyncs {
            try require(!faults.isEmpty, "no image was wrong, where some had to be")
            return ["as expected, \(faults.count) of the images were wrong: \(faults[0])"]
        }
        isKept = isKept || !faults.isEmpty
        try require(faults.isEmpty, "images were wrong:\n  \(faults.joined(separator: "\n  "))")
        return figures
    }

    private static func fingerprint(_ path: String) throws -> String {
        let bytes = try Files.read(path)
        return "\(bytes.count) \(PayloadDigest(of: bytes.span.bytes))"
    }
}
