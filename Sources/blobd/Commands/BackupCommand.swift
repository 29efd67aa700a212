import ArgumentParser
import BlobClient
import BlobStore
import Glibc

struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Back up a store while its daemon serves it.",
        discussion: """
            Writes one moment of the store, with every change acknowledged before, and verifies every byte. \
            The file appears when it is complete and on disk; an existing file is refused. Meanwhile the \
            daemon serves and publishes as usual, but keeps what expires until the backup is done.

              blobd backup /backups/monday.blobd
              ssh push 'blobd backup -' > new.blobd && mv new.blobd monday.blobd
              blobd restore /backups/monday.blobd --data ./data
            """)

    @Argument(
        help: .named("file", "The file to create, or - for standard output."), completion: .file())
    var file: String

    @Option(
        help: .named("dir", "Back up the store in this directory, without a daemon."),
        completion: .directory)
    var data: String?

    @Flag(help: "Print what was backed up as JSON (to standard error with -).")
    var json = false

    @OptionGroup var socket: SocketOptions

    func run() throws {
        let watch = Stopwatch()
        try NewFile.write("a backup", to: file, copy) { try text($0, seconds: watch.seconds) }
    }

    private func copy(_ write: (RawSpan) throws -> Void) throws -> BackupSummary {
        var progress = ProgressBar("backing up")
        defer { progress.finish() }
        do {
            guard let data else {
                var download = try BackupDownload.begin(
                    socket: try socket.path(), options: socket.options())
                return try BackupSummary.read(copying: write) {
                    progress.update($0, of: $1)
                } from: { buffer, count in
                    try download.read(into: &buffer, byteCountMax: count)
                }
            }
            guard !LocalStore.isMissing(data) else {
                throw CommandFailure(.badUsage, "\(data) contains no store")
            }
            // Nothing is changed but what the log already has, which a leader's outbox has, too.
            var options = BlobStore.Options()
            options.isReplicated = true
            let store = try BlobStore.open(at: data, options: options)
            var byteCount = 0
            let head = try store.backUp(
                asOf: Timestamp(milliseconds: wallClockMilliseconds()),
                progress: { progress.update(UInt64($0), of: UInt64($1)) },
                to: { bytes in
                    byteCount += bytes.byteCount
                    try write(bytes)
                })
            return BackupSummary(head: head, byteCount: byteCount)
        } catch let error as StoreError {
            // Most often its daemon uses it.
            let advice =
                if case .cannotOpen = error { "; without --data its daemon backs it up" } else {
                    ""
                }
            throw CommandFailure(.refused, "cannot back up: \(error)\(advice)")
        } catch let error as BackupError {
            throw CommandFailure(.refused, "the daemon's backup \(error)")
        }
    }

    private func text(_ summary: BackupSummary, seconds: Double) throws -> String {
        if json { return try summary.jsonLine(seconds: seconds) }
        return "backed up revision \(HumanText.count(Int64(summary.head.revision))): "
            + "\(HumanText.bytes(UInt64(summary.byteCount))) in \(seconds) s\n"
    }
}

struct BackupSummary {
    let head: BackupHead
    let byteCount: Int

    static func read(
        copying write: (RawSpan) throws -> Void, progress: (UInt64, UInt64) -> Void,
        from source: BackupReader.Source
    ) throws -> BackupSummary {
        func copied(_ buffer: inout [UInt8], _ count: Int) throws {
            let before = buffer.count
            try source(&buffer, count)
            guard buffer.count > before else { return }
            try write(buffer.span.bytes.extracting(before..<buffer.count))
        }
        var reader = try BackupReader(from: copied)
        let head = reader.head
        try reader.skipToEnd(from: copied) { progress(UInt64($0), head.byteCount) }
        return BackupSummary(head: head, byteCount: reader.byteCount)
    }

    func jsonLine(seconds: Double) throws(CommandFailure) -> String {
        try JSONLine.object([
            "store_id": "\(head.storeID)", "revision": head.revision,
            "taken_at": CommandLineText.text(milliseconds: head.takenAt.milliseconds),
            "bytes": byteCount, "seconds": seconds,
        ])
    }
}
