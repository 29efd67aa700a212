import BlobClient
import Glibc
import TestSupport

/// Ends backups, restores and compactions at any moment: by a kill, the last two by a power cut as well.
struct RestoreCutsScenario: Scenario {
    static let about = About(
        "restore-cuts",
        "Backups while others publish; kills and power cuts during restore and compact.",
        """
        Backups are taken of a daemon under publishers. Some are killed: they are then whole or absent. Others are
        restored, and must have one moment: all that was acknowledged before the backup began, nothing that began
        after it, and of each publisher a state that it had. One sync must serve several publishers. Then the daemon
        is killed, so that some of its store is in the write-ahead log only. What a restore or a compaction does to
        its folder is recorded, and the folder made as a power cut at many moments may leave it (see cuts). A restored
        store is absent or has all of the backup; a compacted one has all that was acknowledged. Both are killed, too,
        and then done again, to the end. The backup, and the store of which a copy was compacted, stay as they were.
        """)

    @Setting(10, short: 1, "Backups that are restored and compared.") var backups: Int
    @Setting(50, short: 3, "Backups that are killed.") var backupKills: Int
    @Setting(32, short: 8, "How many publish at the same time.") var publishers: Int
    @Setting(30, short: 15, "Notifications of each.") var ids: Int
    @Setting(1_000, short: 40, "Images of restores, and of compactions.") var rounds: Int
    @Setting(200, short: 6, "Kills of restores, and of compactions.") var kills: Int
    @Setting(false, "Let fsync and fdatasync cover nothing, and pass as soon as an image is wrong.")
    var ignoreSyncs: Bool

    func torture(_ bench: inout Workbench) throws -> [String] {
        try withMemoryFolder("torture-restore", isKept: bench.isKept) { memory, isKept in
            try torture(&bench, in: memory, &isKept)
        }
    }

    private func torture(
        _ bench: inout Workbench, in memory: String, _ isKept: inout Bool
    ) throws -> [String] {
        let source = try CutSource(
            &bench, in: memory, publishers: publishers, ids: ids,
            backups: ignoreSyncs ? 1 : backups, kills: ignoreSyncs ? 0 : backupKills)
        let before = try Self.fingerprint(source.backup)
        let recorder = try Recorder(folder: memory, log: bench.log)
        var figures = source.figures
        var jury = CutJury(ignoring: IgnoredSyncs(calls: ignoreSyncs), untilFaults: 3)
        for command in [CutCommand.restore, .compact] {
            let trial = CutCommandTrial(
                command, of: source, in: "\(memory)/\(command)", blobd: bench.blobd, log: bench.log)
            try trial.cut(rounds, recorder, &jury, using: &bench.generator)
            guard !ignoreSyncs else { continue }
            let wholeCount = try trial.kill(kills, using: &bench.generator)
            figures.append("\(command): \(kills) killed, \(wholeCount) of them whole")
        }
        try require(try Self.fingerprint(source.backup) == before, "the backup is another one now")
        figures.append(
            "\(jury.imageCount) images, \(jury.acknowledgedCount) notifications compared")
        if ignoreSyncs {
            try require(!jury.faults.isEmpty, "no image was wrong, where some had to be")
            return ["as expected, \(jury.faults.count) were wrong: \(jury.faults[0])"]
        }
        isKept = isKept || !jury.faults.isEmpty
        try require(
            jury.faults.isEmpty, "images were wrong:\n  \(jury.faults.joined(separator: "\n  "))")
        return figures
    }

    private static func fingerprint(_ path: String) throws -> String {
        let bytes = try Files.read(path)
        return "\(bytes.count) \(PayloadDigest(of: bytes.span.bytes))"
    }
}
