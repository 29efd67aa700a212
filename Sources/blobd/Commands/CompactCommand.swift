import ArgumentParser
import BlobStore
import CLinux
import Glibc

/// `blobd compact`: writes a store's file anew.
struct CompactCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Rewrite the file of a stopped store without free pages.",
        discussion: """
            A daemon gives free space back to the file system while it serves, so this is seldom needed: \
            after most of a large store of short payloads has gone, or to make the file shorter and not only \
            emptier. The daemon must be stopped. The new file is verified before it takes the place of the \
            old one, and needs room beside it. The store stays the same: id, revisions and cursors.

              systemctl stop blobd && blobd compact --data /var/lib/blobd && systemctl start blobd
            """)

    @Option(help: ArgumentHelp("The store's directory.", valueName: "dir"))
    var data: String

    @Flag(help: "Print the sizes as JSON.")
    var json = false

    func run() throws {
        // A pipe inside that is closed is an error, and no signal.
        clinux_ignore_signals()
        let begin = ContinuousClock.now
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
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        try StandardOutput.write(
            json
                ? try JSONLine.text(SizesDocument(sizes, seconds: seconds))
                : "compacted \(HumanText.bytes(sizes.before)) to \(HumanText.bytes(sizes.after)) in \((seconds * 1_000).rounded() / 1_000) s\n"
        )
    }
}

/// What `--json` prints: bytes on the disk.
private struct SizesDocument: Encodable {
    var bytesBefore: Int
    var bytesAfter: Int
    var seconds: Double

    init(_ sizes: (before: Int, after: Int), seconds: Double) {
        bytesBefore = sizes.before
        bytesAfter = sizes.after
        self.seconds = (seconds * 1_000).rounded() / 1_000
    }
}
