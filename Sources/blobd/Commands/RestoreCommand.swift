import ArgumentParser
import BlobStore
import Glibc

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
        var descriptor = STDIN_FILENO
        if file != "-" {
            descriptor = open(file, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw CommandFailure(.badUsage, "\(file): \(errorText(errno))")
            }
        }
        defer { if file != "-" { close(descriptor) } }
        var progress = ProgressBar("restoring")
        defer { progress.finish() }
        let name = file == "-" ? "standard input" : file
        var byteCount = 0
        do {
            let head = try BlobStore.restore(
                to: data, asOf: Timestamp(milliseconds: wallClockMilliseconds()),
                progress: { progress.update(UInt64($0), of: UInt64($1)) },
                from: { buffer, count in
                    let piece = try Self.read(descriptor, count, name)
                    byteCount += piece.count
                    buffer += piece
                })
            return BackupSummary(head, byteCount: byteCount)
        } catch let error as BackupError {
            throw CommandFailure(.refused, "\(name) \(error)")
        } catch let error as StoreError {
            throw CommandFailure(.refused, "cannot restore \(name): \(error)")
        }
    }

    private static func read(
        _ descriptor: CInt, _ count: Int, _ name: String
    ) throws(CommandFailure) -> [UInt8] {
        var code: CInt = 0
        let piece = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var got: Int
            repeat {
                got = Glibc.read(descriptor, buffer.baseAddress, count)
            } while got < 0 && errno == EINTR
            if got < 0 { code = errno }
            filled = max(0, got)
        }
        guard code == 0 else { throw CommandFailure(.refused, "\(name): \(errorText(code))") }
        return piece
    }
}
