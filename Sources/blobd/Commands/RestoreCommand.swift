import ArgumentParser
import BlobStore

/// `blobd restore`: makes a store of a backup.
struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Create a store from a backup.",
        discussion: """
            Verifies the backup, writes the store and verifies it, and only then gives it its name. On any \
            error no store is left behind. The directory must not have a store.

            The restored store has a new id, and its revisions continue 2^40 higher. Devices that followed \
            a feed before get 410 resync: they read their history again, and miss nothing.

              blobd restore /backups/monday.blobd --data ./data
              ssh archive 'cat monday.blobd' | blobd restore - --data ./data
            """)

    @Argument(help: ArgumentHelp("The backup, or - for standard input.", valueName: "file"))
    var file: String

    @Option(help: ArgumentHelp("The directory of the new store.", valueName: "dir"))
    var data: String

    @Flag(help: "Print what was restored as JSON.")
    var json = false

    func run() throws {
        let begin = ContinuousClock.now
        let summary = try restore()
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        try StandardOutput.write(
            json
                ? try JSONLine.text(BackupDocument(summary, seconds: seconds))
                : "restored revision \(HumanText.count(Int64(summary.head.revision))) of "
                    + "\(CommandLineText.text(milliseconds: summary.head.takenAt.milliseconds)): "
                    + "\(HumanText.bytes(UInt64(summary.byteCount))) in "
                    + "\((seconds * 1_000).rounded() / 1_000) s\n")
    }

    private func restore() throws -> BackupSummary {
        var input = try InputFile(file)
        var progress = ProgressBar("restoring")
        defer { progress.finish() }
        do {
            let head = try BlobStore.restore(
                to: data, asOf: Timestamp(milliseconds: wallClockMilliseconds()),
                progress: { progress.update(UInt64($0), of: UInt64($1)) },
                from: { try input.read(into: &$0, byteCountMax: $1) })
            return BackupSummary(head, byteCount: input.byteCount)
        } catch let error as BackupError {
            throw CommandFailure(.refused, "\(input.title) \(error)")
        } catch let error as StoreError {
            throw CommandFailure(.refused, "cannot restore \(input.title): \(error)")
        }
    }
}
