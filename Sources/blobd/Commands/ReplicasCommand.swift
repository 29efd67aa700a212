import ArgumentParser
import BlobStore
import Glibc
import ObjectStore
import Replication

/// `blobd replicas`: what a bucket has of a replicated store.
struct ReplicasCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replicas",
        abstract: "Show who leads a replicated store, and what its bucket has.",
        discussion: """
            Prints the newest epoch and its host, the newest segment of the log and its age, the bases that \
            a restore can begin with, and what the objects of each kind take. A leader writes a segment every \
            5.2 s at least: one that is much older says that no leader is there, or that it cannot reach \
            the bucket.

            The cost is an estimate at the list prices of AWS S3 in us-east-1: $5 a million PUT and LIST, \
            $0.40 a million GET, $0.023 a GB and month. Segments are counted over the last hour or so, a \
            follower asks four times a second. Only the bucket is read: no daemon is needed. It takes a LIST \
            for each 1,000 objects.

              blobd replicas s3://bucket/blobd
              blobd replicas s3://bucket/blobd --json | jq .log.age_seconds
            """)

    @Argument(help: ArgumentHelp("The bucket and prefix: s3://bucket/prefix.", valueName: "url"))
    var url: String

    @Flag(help: "Print the results as JSON.")
    var json = false

    func run() throws {
        let bucket = try BucketCommand.open(url)
        let report: ReplicaReport
        do {
            let names = try ObjectInventory(try BucketCommand.objects(url))
            report = try ReplicaReport(
                url, names, on: bucket, asOf: Timestamp(milliseconds: wallClockMilliseconds()))
        } catch let error as ObjectStoreError {
            throw CommandFailure(ExitStatus(error), error.description)
        } catch {
            throw BucketCommand.failure(url, error)
        }
        try StandardOutput.write(json ? try JSONLine.text(report) : report.text)
    }
}

/// The names that a bucket has below a prefix, with their sizes.
struct ObjectInventory {
    /// Objects whose names begin alike.
    struct Kind: Encodable, Equatable {
        var objects = 0
        var bytes = 0
    }

    static let kinds = ["epoch", "log", "pack", "base", "blob"]
    private(set) var sizes: [String: Kind] = [:]
    /// Names of the log and of packs.
    private(set) var logNumbers: [UInt64] = []
    private(set) var packs: [ClosedRange<UInt64>] = []

    /// Lists all of them.
    init(_ objects: ObjectBucket) throws(ObjectStoreError) {
        let client = try objects.makeClient()
        for kind in Self.kinds {
            sizes[kind] = Kind()
            var position: ObjectListPosition?
            repeat {
                let page = try client.list("\(kind)/", from: position)
                for object in page.objects {
                    sizes[kind]?.objects += 1
                    sizes[kind]?.bytes += object.byteCount
                    if let number = ShardNames.number(object.key, behind: ShardNames.logPrefix) {
                        logNumbers.append(number)
                    }
                    if let range = ShardNames.packRange(object.key) { packs.append(range) }
                }
                position = page.next
            } while position != nil
        }
    }

    var byteCount: Int { sizes.values.reduce(0) { $0 + $1.bytes } }
}
