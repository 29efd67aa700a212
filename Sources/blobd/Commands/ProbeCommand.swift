import ArgumentParser
import BlobClient
import Glibc
import ObjectStore

struct ProbeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Test whether a bucket can be replicated to.",
        discussion: """
            Lists, writes, reads and deletes objects named probe/… below the prefix, and measures the \
            latency of a PUT of 4 KiB. 32 clients race to create each of 100 names, and exactly one must \
            win, because replication needs a server that honours If-None-Match: *. Sends about 3,800 \
            requests.

              export AWS_ENDPOINT_URL=https://s3.example.com AWS_REGION=eu-central-1
              export AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=…
              blobd probe s3://bucket/blobd
              blobd probe s3://bucket/blobd --json | jq .put_milliseconds.p99

            Without a key, the credentials are those of a web identity, of AWS_SHARED_CREDENTIALS_FILE or \
            ~/.aws/credentials (profile AWS_PROFILE), of its credential_process, or of the container's or the \
            machine's role. The first line says which. Without AWS_ENDPOINT_URL, the bucket is at AWS.

            Exit codes: 0 the bucket can be used, 1 it cannot, 2 bad usage, 4 not reachable, or the \
            connection broke too often to tell.
            """)

    @Argument(help: .named("url", "The bucket and prefix: s3://bucket/prefix."))
    var url: String

    @Flag(help: "Print the results as JSON.")
    var json = false

    func run() throws {
        // Writing to a closed connection is an error, not a signal.
        signal(SIGPIPE, SIG_IGN)
        var report: JSONObject = [
            "url": url, "can_list": false, "can_write": false, "can_read": false,
            "can_delete": false,
        ]
        let probe: ProbeReport
        do throws(ObjectStoreError) {
            let bucket = try ObjectBucket(url)
            let trial = BucketTrial(bucket: bucket, client: try bucket.makeClient())
            probe = try trial.run(&report) { line in
                if !json { try? StandardOutput.write(line + "\n") }
            }
        } catch {
            report["error"] = error.description
            if json {
                try StandardOutput.write(try JSONLine.object(report), orExit: .notChecked)
            }
            throw CommandFailure(ExitStatus(error), error.description)
        }
        let isUnchecked = probe.faultyNameCount == 0 && !probe.isSound
        let verdict =
            isUnchecked
            ? "The bucket could not be checked.\n"
            : "The bucket \(probe.isSound ? "can" : "CANNOT") be replicated to.\n"
        try StandardOutput.write(
            json ? try JSONLine.object(report) : verdict, orExit: .notChecked)
        guard let why = probe.refusal else { return }
        throw CommandFailure(
            isUnchecked ? .noDaemon : .refused,
            isUnchecked ? "\(url): \(why)" : "\(url) cannot be replicated to: \(why)")
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

private struct BucketTrial {
    let bucket: ObjectBucket
    let client: ObjectClient

    private static let putCount = 200
    private static let payload = [UInt8](repeating: UInt8(ascii: "p"), count: 4_096)

    /// Runs all steps.
    ///
    /// - Parameter report: receives the output of `--json`, up to a step that fails.
    /// - Returns: what came of conditional creates.
    func run(
        _ report: inout JSONObject, _ say: (String) -> Void
    ) throws(ObjectStoreError) -> ProbeReport {
        let access = bucket.access
        let credentials = try access.credentials.get(stop: StopSignal())
        report["url"] = "\(bucket.url)"
        report["endpoint"] = "\(access.endpoint)"
        report["region"] = access.region
        say(
            "\(bucket.url) at \(access.endpoint), region \(access.region), \(credentials)"
        )
        let name = "probe/\(UInt64.random(in: .min ... .max))"
        func failed(_ why: String) -> ObjectStoreError {
            ObjectStoreError(.badAnswer, "get \(name) in \(bucket.url): \(why)")
        }
        _ = try client.list("", keyCountMax: 1)
        report["can_list"] = true
        say("list      ok")
        try put(name)
        // Whoever takes the lead of a shard must see each base that was made before.
        guard try client.list(name, keyCountMax: 1).objects.contains(where: { $0.key == name })
        else {
            throw ObjectStoreError(
                .badAnswer,
                "list \(name) in \(bucket.url): the object that was just written is not listed")
        }
        report["can_write"] = true
        say("write     ok")
        guard try client.get(name, byteCountMax: 1 << 20) == Self.payload else {
            throw failed("other bytes than were written")
        }
        report["can_read"] = true
        say("read      ok")
        try client.delete(name)
        guard try client.get(name, byteCountMax: 1 << 20) == nil else {
            throw failed("still exists after its deletion")
        }
        report["can_delete"] = true
        say("delete    ok")
        let probe = try race(&report, say)
        try measure(name, &report, say)
        return probe
    }

    private func put(_ name: String) throws(ObjectStoreError) {
        try client.put(name, Self.payload.span.bytes)
    }

    private func race(
        _ report: inout JSONObject, _ say: (String) -> Void
    ) throws(ObjectStoreError) -> ProbeReport {
        let probe = try ConditionalWriteProbe.full.run(bucket)
        report["conditional_creates"] =
            [
                "names": probe.nameCount, "racers": probe.racerCount,
                "one_winner": probe.soundNameCount, "faulty": probe.faultyNameCount,
                "unchecked": probe.uncheckedNameCount, "unanswered": probe.unknownCount,
                "faults": probe.faults,
            ] as JSONObject
        let verdict = probe.isSound ? "ok" : probe.faultyNameCount > 0 ? "FAILED" : "not checked"
        var text =
            "create    \(verdict): \(probe.soundNameCount) of \(probe.nameCount) names had one winner of \(probe.racerCount)"
        if probe.unknownCount > 0 { text += ", \(probe.unknownCount) unanswered requests" }
        for line in probe.faults + [probe.uncheckedReason].compactMap({ $0 }) {
            text += "\n          \(line)"
        }
        say(text)
        return probe
    }

    /// Measures the latency of puts, in milliseconds with two decimals.
    private func measure(
        _ name: String, _ report: inout JSONObject, _ say: (String) -> Void
    ) throws(ObjectStoreError) {
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
        times.sort()
        func share(_ share: Double) -> Double {
            Double(times[min(Int(Double(times.count) * share), times.count - 1)] / 10) / 100
        }
        let (p50, p90, p99, max) = (share(0.5), share(0.9), share(0.99), share(1))
        report["put_milliseconds"] =
            ["p50": p50, "p90": p90, "p99": p99, "max": max] as JSONObject
        say("put 4 KiB p50 \(p50) ms, p90 \(p90) ms, p99 \(p99) ms, max \(max) ms")
    }
}
