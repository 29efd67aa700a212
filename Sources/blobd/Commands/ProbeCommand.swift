import ArgumentParser
import BlobClient
import Glibc
import ObjectStore

/// `blobd probe`: tests a bucket.
struct ProbeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Test whether a bucket can be replicated to.",
        discussion: """
            Lists, writes, reads and deletes a few objects below the prefix, lets 32 clients race to create \
            each of 100 names, and measures the latency of a PUT of 4 KiB. Exactly one client must win each \
            name: replication needs a server that honours If-None-Match: *. All objects of the test are \
            named probe/… and deleted. It sends about 3,800 requests. No daemon is needed.

              export AWS_ENDPOINT_URL=https://s3.example.com AWS_REGION=eu-central-1
              export AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=…
              blobd probe s3://bucket/blobd
              blobd probe s3://bucket/blobd --json | jq .put_milliseconds.p99

            Without these variables the credentials are read from AWS_SHARED_CREDENTIALS_FILE or \
            ~/.aws/credentials, profile AWS_PROFILE. The endpoint is AWS's where AWS_ENDPOINT_URL is not set.

            Exit codes: 0 the bucket can be used, 1 it cannot, 2 bad usage, 4 not reachable.
            """)

    @Argument(help: .named("url", "The bucket and prefix: s3://bucket/prefix."))
    var url: String

    @Flag(help: "Print the results as JSON.")
    var json = false

    func run() throws {
        // Writing to a closed connection is an error, and no signal.
        signal(SIGPIPE, SIG_IGN)
        var report = BucketReport(url: url)
        do throws(ObjectStoreError) {
            let bucket = try ObjectBucket(url)
            var trial = BucketTrial(bucket, try bucket.makeClient())
            report = trial.report
            if !json { try? StandardOutput.write(trial.heading) }
            for step in BucketTrial.steps {
                let line = try trial.run(step)
                report = trial.report
                if !json { try? StandardOutput.write(line + "\n") }
            }
        } catch {
            report.error = error.description
            if json { try StandardOutput.write(try JSONLine.text(report)) }
            throw CommandFailure(ExitStatus(error), error.description)
        }
        if json {
            try StandardOutput.write(try JSONLine.text(report))
        } else {
            try StandardOutput.write(report.verdict)
        }
        guard report.isUsable else {
            throw CommandFailure(
                .refused,
                "\(url) cannot be replicated to: the server does not keep conditional creates")
        }
    }
}

extension ExitStatus {
    init(_ error: ObjectStoreError) {
        switch error.kind {
        case .invalidAddress, .noCredentials: self = .badUsage
        case .notReachable, .unavailable: self = .noDaemon
        default: self = .refused
        }
    }
}

/// The steps of `blobd probe`.
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

    /// The server, and the credentials.
    var heading: String {
        "\(bucket.url) at \(bucket.access.endpoint), region \(bucket.access.region), \(bucket.access.credentials.credentials)\n"
    }

    /// Runs a step. Returns a line with the result.
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

/// What `blobd probe --json` prints.
struct BucketReport: Encodable {
    var url: String
    var endpoint: String?
    var region: String?
    var canList = false
    var canWrite = false
    var canRead = false
    var canDelete = false
    var conditionalCreates: Creates?
    var putMilliseconds: Latency?
    var error: String?

    struct Creates: Encodable {
        var names: Int
        var racers: Int
        var oneWinner: Int
        var faulty: Int
        var unanswered: Int
        var faults: [String]

        init(_ report: ProbeReport) {
            names = report.nameCount
            racers = report.racerCount
            oneWinner = report.soundNameCount
            faulty = report.faultyNameCount
            unanswered = report.unknownCount
            faults = report.faults
        }
    }

    /// Latencies in milliseconds, with two decimals.
    struct Latency: Encodable {
        var p50: Double
        var p90: Double
        var p99: Double
        var max: Double

        /// - Parameter microseconds: at least one.
        init(microseconds: [Int]) {
            let sorted = microseconds.sorted()
            func value(_ share: Double) -> Double {
                let index = min(Int(Double(sorted.count) * share), sorted.count - 1)
                return Double(sorted[index] / 10) / 100
            }
            (p50, p90, p99, max) = (value(0.5), value(0.9), value(0.99), value(1))
        }
    }

    var isUsable: Bool { conditionalCreates.map { $0.oneWinner == $0.names } ?? false }

    var verdict: String {
        isUsable ? "The bucket can be replicated to.\n" : "The bucket CANNOT be replicated to.\n"
    }
}
