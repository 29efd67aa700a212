import ArgumentParser
import BlobClient
import Glibc
import ObjectStore

/// `blobd probe`: tries a bucket.
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

    @Argument(help: ArgumentHelp("The bucket and prefix: s3://bucket/prefix.", valueName: "url"))
    var url: String

    @Flag(help: "Print the results as JSON.")
    var json = false

    func run() throws {
        // A connection that the server has closed is an error of its write.
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
    /// The code that says what `error` is about.
    init(_ error: ObjectStoreError) {
        switch error.kind {
        case .invalidAddress, .noCredentials: self = .badUsage
        case .notReachable, .unavailable: self = .noDaemon
        default: self = .refused
        }
    }
}
