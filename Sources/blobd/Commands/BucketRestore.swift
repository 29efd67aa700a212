import BlobProtocol
import BlobStore
import Glibc
import ObjectStore
import Replication

enum BucketCommand {
    /// Restores to a directory; nil: only verifies.
    static func restore(
        _ url: String, _ target: Restorer.Target, to data: String?, json: Bool, _ watch: Stopwatch
    ) throws -> String {
        let now = Timestamp(milliseconds: wallClockMilliseconds())
        let restored = try run(on: url, "cannot restore \(url)") { bucket, bar in
            let restorer = Restorer(target, asOf: now) { bar.update($0) }
            return try data.map { try restorer.restore(to: $0, from: bucket) }
                ?? restorer.verify(in: temporaryFolder, from: bucket)
        }
        for problem in restored.skipped { StandardError.write("blobd: skipped: \(problem)\n") }
        let time = CommandLineText.text(milliseconds: restored.time.milliseconds)
        let seconds = watch.seconds
        if json {
            return try JSONLine.object([
                "shard_store_id": restored.shardID, "store_id": restored.storeID,
                "sequence": restored.sequence, "time": time, "base_segment": restored.base,
                "last_segment": restored.segment, "batches": restored.batchCount,
                "skipped": restored.skipped.map(\.description), "seconds": seconds,
            ])
        }
        return (restored.storeID == nil ? "verified " : "restored ")
            + "batch \(HumanText.count(restored.sequence)) of \(time), "
            + "\(HumanText.count(restored.batchCount)) after the base of segment \(restored.base), "
            + "in \(seconds) s\n"
    }

    /// In `TMPDIR`, or `/var/tmp`, which is on a disk.
    private static var temporaryFolder: String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
        return "\(parent)/blobd-restore.\(getpid())"
    }

    static func verify(_ url: String, json: Bool, _ watch: Stopwatch) throws {
        let report = try run(on: url, "cannot verify \(url)") { bucket, bar in
            try BucketVerifier { bar.update($0) }.run(on: bucket)
        }
        let seconds = watch.seconds
        try StandardOutput.write(
            json
                ? try JSONLine.object([
                    "clean": report.problems.isEmpty, "shard_store_id": report.shardID,
                    "first_sequence": report.batches?.lowerBound,
                    "last_sequence": report.batches?.upperBound, "bases": report.baseCount,
                    "segments": report.segmentCount, "payloads": report.payloadCount,
                    "bytes": report.byteCount,
                    "problems": report.problems.map { ["object": $0.name, "problem": $0.why] },
                    "seconds": seconds,
                ]) : text(report, seconds: seconds))
        guard !report.problems.isEmpty else { return }
        for problem in report.problems { StandardError.write("blobd: \(problem)\n") }
        let count = HumanText.count(report.problems.count)
        throw CommandFailure(.refused, "\(url) contains \(count) damaged or missing objects")
    }

    private static func text(_ report: BucketVerifier.Report, seconds: Double) -> String {
        let batches = report.batches.map {
            "batches \(HumanText.count($0.lowerBound)) to \(HumanText.count($0.upperBound)), "
        }
        return (report.problems.isEmpty ? "verified " : "damaged: read ") + (batches ?? "")
            + "\(HumanText.count(report.baseCount)) bases, "
            + "\(HumanText.count(report.segmentCount)) segments, "
            + "\(HumanText.count(report.payloadCount)) payloads, "
            + "\(HumanText.bytes(report.byteCount)) in \(seconds) s\n"
    }

    static func open(_ url: String) throws(CommandFailure) -> S3Bucket {
        // Writing to a closed connection is an error, not a signal.
        signal(SIGPIPE, SIG_IGN)
        let objects = try objects(url)
        do throws(ReplicationError) { return try S3Bucket(objects, stop: StopSignal()) } catch {
            throw CommandFailure(.refused, error.description)
        }
    }

    /// Runs `body` on a bucket, with a progress bar for each of its phases.
    static func run<Result>(
        on url: String, _ failure: String, _ body: (S3Bucket, PhaseBar) throws -> Result
    ) throws -> Result {
        let bucket = try open(url)
        let bar = PhaseBar()
        defer { bar.finish() }
        do { return try body(bucket, bar) } catch { throw Self.failure(failure, error) }
    }

    static func objects(_ url: String) throws(CommandFailure) -> ObjectBucket {
        do throws(ObjectStoreError) { return try ObjectBucket(url) } catch {
            throw CommandFailure(ExitStatus(error), error.description)
        }
    }

    /// The error of such a command. A server that is unavailable has its own exit code.
    static func failure(_ what: String, _ error: any Error) -> CommandFailure {
        switch error {
        case let error as CommandFailure: error
        case ReplicationError.bucket(let why, let isLasting):
            CommandFailure(isLasting ? .refused : .noDaemon, "\(what): \(why)")
        case ReplicationError.stopped: CommandFailure(.noDaemon, "\(what): \(error)")
        default: CommandFailure(.refused, "\(what): \(error)")
        }
    }
}

final class PhaseBar {
    private var bar: ProgressBar?
    private var title = ""

    func update(_ progress: BucketProgress) {
        if progress.phase != title {
            finish()
            title = progress.phase
            bar = ProgressBar(
                title,
                describe: progress.isCount ? { HumanText.count($0) } : { HumanText.bytes($0) }
            )
        }
        bar?.update(UInt64(progress.done), of: UInt64(progress.total))
    }

    func finish() { bar?.finish() }
}
