import BlobProtocol
import BlobStore
import Glibc
import ObjectStore
import Replication

/// `blobd restore s3://…`: a store of what a bucket has of a replicated one.
struct BucketRestore {
    private let url: String
    private let target: Restorer.Target
    /// nil: it is only verified.
    private let data: String?

    /// - Throws: where the time is none.
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

    /// Restores, and says what was.
    func run(json: Bool, since begin: ContinuousClock.Instant) throws -> String {
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
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        let rounded = (seconds * 1_000).rounded() / 1_000
        if json { return try JSONLine.text(RestoredDocument(restored, seconds: rounded)) }
        let what =
            "batch \(HumanText.count(restored.sequence)) of "
            + "\(CommandLineText.text(milliseconds: restored.time.milliseconds)), "
            + "\(HumanText.count(restored.batchCount)) behind the base of segment \(restored.base), "
            + "in \(rounded) s\n"
        return restored.storeID == nil
            ? "verified " + what : "restored " + what
    }

    /// In `TMPDIR`, or `/var/tmp`, which is on a disk.
    private static var temporaryFolder: String {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
        return "\(parent)/blobd-restore.\(getpid())"
    }
}

extension PhaseBar {
    /// Shows how far a restore is.
    func show(_ progress: Restorer.Progress) {
        switch progress {
        case .base(let done, let total): update("reading the base", done, total)
        case .batches(let done, let total):
            // Where it ends is not known before.
            guard let total else { return }
            update(
                "applying batches", Int(clamping: done), Int(clamping: total), isCount: true)
        case .store(let done, let total): update("writing the store", done, total)
        }
    }
}

/// What `--json` prints.
struct RestoredDocument: Encodable {
    var shardStoreID: String
    var storeID: String?
    var sequence: UInt64
    var time: String
    var baseSegment: UInt64
    var lastSegment: UInt64
    var batches: UInt64
    /// Bases that cannot be used.
    var skipped: [String]
    var seconds: Double

    init(_ restored: Restorer.Restored, seconds: Double) {
        shardStoreID = restored.shardID
        storeID = restored.storeID
        sequence = restored.sequence
        time = CommandLineText.text(milliseconds: restored.time.milliseconds)
        baseSegment = restored.base
        lastSegment = restored.segment
        batches = restored.batchCount
        skipped = restored.skipped.map(\.description)
        self.seconds = seconds
    }
}
