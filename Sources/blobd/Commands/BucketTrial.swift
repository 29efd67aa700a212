import ObjectStore

/// The steps of `blobd probe`, one after the other.
struct BucketTrial {
    private let bucket: ObjectBucket
    private let client: ObjectClient
    private(set) var report: BucketReport
    private let name: String

    enum Step: CaseIterable {
        case list, write, read, delete, race, latency
    }

    static let steps = Step.allCases

    /// Puts whose latency is measured.
    private static let putCount = 200
    private static let payload = [UInt8](repeating: UInt8(ascii: "p"), count: 4_096)

    init(_ bucket: ObjectBucket, _ client: ObjectClient) {
        self.bucket = bucket
        self.client = client
        report = BucketReport(url: "\(bucket.url)")
        report.endpoint = "\(bucket.access.endpoint)"
        report.region = bucket.access.region
        name = "probe/\(UInt64.random(in: .min ... .max))"
    }

    /// Who is asked, and as whom.
    var heading: String {
        "\(bucket.url) at \(bucket.access.endpoint), region \(bucket.access.region), \(bucket.access.credentials.credentials)\n"
    }

    /// Runs a step. Returns a line that says what came of it.
    mutating func run(_ step: Step) throws(ObjectStoreError) -> String {
        switch step {
        case .list:
            _ = try client.list("", keyCountMax: 1)
            report.canList = true
            return "list      ok"
        case .write:
            try put(name)
            report.canWrite = true
            return "write     ok"
        case .read:
            guard try client.get(name, byteCountMax: 1 << 20) == Self.payload else {
                throw ObjectStoreError(
                    .badAnswer, "get \(name) in \(bucket.url): not the bytes that were put")
            }
            report.canRead = true
            return "read      ok"
        case .delete:
            try client.delete(name)
            guard try client.get(name, byteCountMax: 1 << 20) == nil else {
                throw ObjectStoreError(
                    .badAnswer, "get \(name) in \(bucket.url): still there after its deletion")
            }
            report.canDelete = true
            return "delete    ok"
        case .race: return try race()
        case .latency: return try latency()
        }
    }

    private func put(_ name: String) throws(ObjectStoreError) {
        try client.put(name, Self.payload.span.bytes)
    }

    private mutating func race() throws(ObjectStoreError) -> String {
        let probe = try ConditionalWriteProbe.full.run(bucket)
        report.conditionalCreates = .init(probe)
        var text =
            "create    \(probe.isSound ? "ok" : "FAILED"): \(probe.soundNameCount) of \(probe.nameCount) names had one winner of \(probe.racerCount)"
        if probe.unknownCount > 0 { text += ", \(probe.unknownCount) requests without an answer" }
        for fault in probe.faults { text += "\n          \(fault)" }
        return text
    }

    private mutating func latency() throws(ObjectStoreError) -> String {
        var times: [Int] = []
        let names = (0..<Self.putCount).map { "\(name)-\($0)" }
        var failure: ObjectStoreError?
        for name in names {
            let start = MonotonicClock.microseconds()
            do throws(ObjectStoreError) { try put(name) } catch {
                failure = error
                break
            }
            times.append(MonotonicClock.microseconds() - start)
        }
        if failure?.isTransient != true {
            for name in names.prefix(times.count + 1) { try client.delete(name) }
        }
        if let failure { throw failure }
        let figures = BucketReport.Latency(microseconds: times)
        report.putMilliseconds = figures
        return
            "put 4 KiB p50 \(figures.p50) ms, p90 \(figures.p90) ms, p99 \(figures.p99) ms, max \(figures.max) ms"
    }
}
