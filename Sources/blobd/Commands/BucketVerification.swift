import BlobStore
import Replication

/// `blobd restore --verify-only --all`: everything that a bucket keeps of a replicated store is read and checked.
struct BucketVerification {
    let url: String

    /// Verifies, and says what was.
    func run(json: Bool, since begin: ContinuousClock.Instant) throws {
        let bucket = try BucketCommand.open(url)
        let bar = PhaseBar()
        let report: BucketVerifier.Report
        do {
            defer { bar.finish() }
            report = try BucketVerifier { bar.show($0) }.run(on: bucket)
        } catch {
            throw BucketCommand.failure("cannot verify \(url)", error)
        }
        let seconds = ((ContinuousClock.now - begin) / .seconds(1) * 1_000).rounded() / 1_000
        try StandardOutput.write(
            json
                ? try JSONLine.text(VerifiedDocument(report, seconds: seconds))
                : Self.text(report, seconds: seconds))
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
    /// Shows how far a verification is.
    fileprivate func show(_ progress: BucketVerifier.Progress) {
        switch progress {
        case .bases(let done, let total): update("reading bases", done, total)
        case .log(let done, let total): update("reading the log", done, total, isCount: true)
        case .payloads(let done, let total): update("reading payloads", done, total)
        }
    }
}

/// What `--json` prints.
private struct VerifiedDocument: Encodable {
    struct Problem: Encodable {
        var object, problem: String
    }

    var clean: Bool
    var shardStoreID: String
    var firstSequence, lastSequence: UInt64?
    var bases, packs, segments, payloads, bytes: Int
    var problems: [Problem]
    var seconds: Double

    init(_ report: BucketVerifier.Report, seconds: Double) {
        clean = report.problems.isEmpty
        shardStoreID = report.shardID
        firstSequence = report.batches?.lowerBound
        lastSequence = report.batches?.upperBound
        bases = report.baseCount
        packs = report.packCount
        segments = report.segmentCount
        payloads = report.payloadCount
        bytes = report.byteCount
        problems = report.problems.map { Problem(object: $0.name, problem: $0.why) }
        self.seconds = seconds
    }
}
