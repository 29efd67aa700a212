import ArgumentParser
import BlobStore
import CLinux
import Glibc

struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Rewrite the file of a stopped store without free pages.",
        discussion: """
            Seldom needed, because a daemon returns free space to the file system: only after most of a \
            large store of short payloads was deleted. Stop the daemon first, and any other program that has \
            opened the store: it would keep reading the old file. The new file is verified before it replaces \
            the old one; until then both need disk space. Id, revisions and cursors stay the same.

              systemctl stop blobd.socket blobd && blobd compact --data /var/lib/blobd && systemctl start blobd
            """)

    @Option(help: .named("dir", "The store's directory."), completion: .directory)
    var data: String

    @Flag(help: "Print the sizes as JSON.")
    var json = false

    func run() throws {
        // Writing to a closed pipe is an error, not a signal.
        clinux_ignore_signals()
        let watch = Stopwatch()
        var progress = ProgressBar("compacting")
        defer { progress.finish() }
        let sizes: (before: Int, after: Int)
        do {
            sizes = try BlobStore.compact(
                at: data, asOf: Timestamp(milliseconds: wallClockMilliseconds())
            ) { progress.update(UInt64($0), of: UInt64($1)) }
        } catch let error as StoreError {
            throw CommandFailure(.refused, "cannot compact \(data): \(error)")
        }
        progress.finish()
        let seconds = watch.seconds
        try StandardOutput.write(
            json
                ? try JSONLine.object([
                    "bytes_before": sizes.before, "bytes_after": sizes.after, "seconds": seconds,
                ])
                : "compacted \(HumanText.bytes(sizes.before)) to "
                    + "\(HumanText.bytes(sizes.after)) in \(seconds) s\n")
    }
}
