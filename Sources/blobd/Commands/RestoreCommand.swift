import ArgumentParser
import BlobStore
import Glibc
import Replication

struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Create a store from a backup or from a bucket.",
        discussion: """
            Verifies the source, writes the store, verifies it, and renames it into place. The directory \
            must not contain a store.

            From a bucket, restores to the end of the log, to a time (--at) or to a batch (--sequence), and \
            needs twice the store's disk space. --verify-only does this in a temporary directory (TMPDIR), \
            and removes it. With --all it instead checks every object that a restore may need, names each \
            damaged one on standard error, and exits with 1 if there is any.

            The restored store is not replicated. It has a new id, and its revisions and assigned ids \
            continue at least 2^40 higher. Devices that followed a feed get 410 resync, and read their \
            history again.

              blobd restore /backups/monday.blobd --data ./data
              ssh push 'cat monday.blobd' | blobd restore - --data ./data
              blobd restore s3://bucket/blobd --data ./data --at 2026-12-01T09:30:00Z
              blobd restore s3://bucket/blobd --verify-only
              blobd restore s3://bucket/blobd --verify-only --all --json | jq .problems
            """)

    @Argument(
        help: .named("source", "The backup, - for standard input, or s3://bucket/prefix."),
        completion: .file())
    var source: String

    @Option(help: .named("dir", "The directory of the new store."), completion: .directory)
    var data: String?

    @Option(
        help: .named(
            "time",
            "From a bucket: the last moment, such as 2026-12-01T09:30:00+01:00."
        ))
    var at: String?

    @Option(help: .named("number", "From a bucket: the last batch."))
    var sequence: UInt64?

    @Flag(help: "From a bucket: only verify.")
    var verifyOnly = false

    @Flag(help: "With --verify-only: check every object in the bucket.")
    var all = false

    @Flag(help: "Print what was restored as JSON.")
    var json = false

    private var isBucket: Bool { source.hasPrefix("s3://") }

    func validate() throws {
        try require(
            isBucket || (at == nil && sequence == nil && !verifyOnly),
            "--at, --sequence and --verify-only need a bucket: s3://bucket/prefix")
        try require(at == nil || sequence == nil, "give --at or --sequence, not both")
        try require(
            !all || (verifyOnly && at == nil && sequence == nil),
            "--all needs --verify-only, and takes no --at and no --sequence")
        try require(data != nil || verifyOnly, "give --data")
    }

    func run() throws {
        let watch = Stopwatch()
        if all { return try BucketCommand.verify(source, json: json, watch) }
        if isBucket {
            return try StandardOutput.write(
                try BucketCommand.restore(
                    source, try target(), to: verifyOnly ? nil : data, json: json, watch))
        }
        let summary = try restoreBackup(to: data ?? "")
        let seconds = watch.seconds
        try StandardOutput.write(
            json
                ? try summary.jsonLine(seconds: seconds)
                : "restored revision \(HumanText.count(Int64(summary.head.revision))) of "
                    + "\(CommandLineText.text(milliseconds: summary.head.takenAt.milliseconds)): "
                    + "\(HumanText.bytes(summary.byteCount)) in \(seconds) s\n")
    }

    private func target() throws(CommandFailure) -> Restorer.Target {
        if let sequence { return .sequence(sequence) }
        guard let at else { return .end }
        guard let time = try? CommandLineText.time(at) else {
            throw CommandFailure(
                .badUsage,
                "--at \(HumanText.line(at)) is not a time: write it like 2026-12-01T09:30:00Z or 2026-12-01T09:30:00+01:00"
            )
        }
        // It would be the end of the log, and no moment that anybody meant.
        let now = wallClockMilliseconds()
        guard time <= now else {
            throw CommandFailure(
                .badUsage,
                "--at \(HumanText.line(at)) is in the future; this clock says \(CommandLineText.text(milliseconds: now)). Leave it out for the newest state"
            )
        }
        return .time(Timestamp(milliseconds: time))
    }

    private func restoreBackup(to data: String) throws -> BackupSummary {
        var input = try InputFile(source)
        var progress = ProgressBar("restoring")
        defer { progress.finish() }
        do {
            let head = try BlobStore.restore(
                to: data, asOf: Timestamp(milliseconds: wallClockMilliseconds()),
                progress: { progress.update(UInt64($0), of: UInt64($1)) },
                from: { try input.read(into: &$0, byteCountMax: $1) })
            return BackupSummary(head: head, byteCount: input.byteCount)
        } catch let error as BackupError {
            throw CommandFailure(.refused, "\(input.name) \(error)")
        } catch let error as StoreError {
            throw CommandFailure(.refused, "cannot restore \(input.name): \(error)")
        }
    }
}
