import BlobProtocol
import BlobStore
import Glibc
import ObjectStore
import Replication

/// `blobd restore s3://…`: restores a replicated store from its bucket.
struct BucketRestore {
    private let url: String
    private let target: Restorer.Target
    /// Nil: only verify.
    private let data: String?

    /// - Throws: if the time is not one.
    init(
        _ url: String, at time: String?, sequence: UInt64?, data: String?
    ) throws(CommandFailure) {
        self.url = url
        self.data = data
        if let sequence {
            target = .sequence(sequence)
        } else if let time {
            do throws(ProtocolError) {
                target = .time(Timestamp(milliseconds: try CommandLineText.time(time)))
            } catch {
                throw CommandFailure(
                    .badUsage,
                    "--at \(HumanText.line(time)) is no time such as 2026-12-01T09:30:00Z")
            }
        } else {
            target = .end
        }
    }

    /// - Returns: what was restored.
    func run(json: Bool, _ watch: Stopwatch) throws -> String {
        let bucket = try BucketCommand.open(url)
        let now = Timestamp(milliseconds: wallClockMilliseconds())
        let bar = PhaseBar()
        defer { bar.finish() }
        let restorer = Restorer(target, asOf: now) { bar.show($0) }
        let restored: Restorer.Restored
        do {
            if let data {
                restored = try restorer.restore(to: data, from: bucket)
            } else {
                restored = try restorer.verify(in: Self.temporaryFolder, from: bucket)
            }
        } catch {
            throw BucketCommand.failure("cannot restore \(url)", error)
        }
        bar.finish()
        for problem in restored.skipped { StandardError.write("blobd: left out: \(problem)\n") }
        let time = CommandLineText.text(milliseconds: restored.time.milliseconds)
        let seconds = watch.seconds
        if json {
            return try JSONLine.object([
                "shard_store_id": restored.shardID, "store_id": restored.storeID,
                "sequence": restored.sequence, "time": time, "base_segment": restored.base,
                "last_segment": restored.segment, "batches": restored.batchCount,
                // Bases that cannot be used.
                "skipped": restored.skipped.map(\.description), "seconds": seconds,
            ])
        }
        let what =
            "batch \(HumanText.count(restored.sequence)) of \(time), "
            + "\(HumanText.count(restored.batchCount)) after the base of segment \(restored.base), "
            + "in \(seconds) s\n"
        return (restored.storeID == nil ? "verified " : "restored ") + what
    }

    /// In `TMPDIR`, or `/var/tmp`, which is on a disk.
    private static var temporaryFolder: String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
        return "\(parent)/blobd-restore.\(getpid())"
    }
}

extension PhaseBar {
    func show(_ progress: Restorer.Progress) {
        switch progress {
        case .base(let done, let total): update("reading the base", done, total)
        case .batches(let done, let total):
            // The end is not known in advance.
            guard let total else { return }
            update(
                "applying batches", Int(clamping: done), Int(clamping: total), isCount: true)
        case .store(let done, let total): update("writing the store", done, total)
        }
    }
}

/// `blobd restore --verify-only --all`: checks everything that a bucket keeps of a replicated store.
struct BucketVerification {
    let url: String

    func run(json: Bool, _ watch: Stopwatch) throws {
        let bucket = try BucketCommand.open(url)
        let bar = PhaseBar()
        let report: BucketVerifier.Report
        do {
            defer { bar.finish() }
            report = try BucketVerifier { bar.show($0) }.run(on: bucket)
        } catch {
            throw BucketCommand.failure("cannot verify \(url)", error)
        }
        let seconds = watch.seconds
        try StandardOutput.write(
            json
                ? try JSONLine.object([
                    "clean": report.problems.isEmpty, "shard_store_id": report.shardID,
                    "first_sequence": report.batches?.lowerBound,
                    "last_sequence": report.batches?.upperBound, "bases": report.baseCount,
                    "packs": report.packCount, "segments": report.segmentCount,
                    "payloads": report.payloadCount, "bytes": report.byteCount,
                    "problems": report.problems.map { ["object": $0.name, "problem": $0.why] },
                    "seconds": seconds,
                ]) : Self.text(report, seconds: seconds))
        guard !report.problems.isEmpty else { return }
        for problem in report.problems { StandardError.write("blobd: \(problem)\n") }
        let count = HumanText.count(report.problems.count)
        throw CommandFailure(.refused, "\(url) has \(count) damaged or missing objects")
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
}

extension PhaseBar {
    fileprivate func show(_ progress: BucketVerifier.Progress) {
        switch progress {
        case .bases(let done, let total): update("reading bases", done, total)
        case .log(let done, let total): update("reading the log", done, total, isCount: true)
        case .payloads(let done, let total): update("reading payloads", done, total)
        }
    }
}

/// What the commands that read a replicated store's bucket share.
enum BucketCommand {
    /// A client of a bucket. The environment has its endpoint and credentials.
    static func open(_ url: String) throws(CommandFailure) -> S3Bucket {
        // Writing to a closed connection is an error, and no signal.
        signal(SIGPIPE, SIG_IGN)
        let objects = try objects(url)
        do throws(ReplicationError) { return try S3Bucket(objects, stop: StopSignal()) } catch {
            throw CommandFailure(.refused, error.description)
        }
    }

    static func objects(_ url: String) throws(CommandFailure) -> ObjectBucket {
        do throws(ObjectStoreError) { return try ObjectBucket(url) } catch {
            throw CommandFailure(ExitStatus(error), error.description)
        }
    }

    /// The error of such a command. A server that is not available now has its own exit code.
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
