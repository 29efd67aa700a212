import ArgumentParser
import BlobStore
import Glibc
import ObjectStore
import Replication

struct ReplicasCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replicas",
        abstract: "Show who leads a replicated store, and what its bucket contains.",
        discussion: """
            Prints who leads and in which epoch, the newest segment of the log and its age, the bases from \
            which a restore can start, and the size of the objects of each kind. A leader says every 5.2 s \
            that it is alive: if it did so last much longer ago, no leader reaches the bucket.

            The cost is estimated at the list prices of AWS S3 in us-east-1 and the average rate since the \
            oldest base. Reads only the bucket.

              blobd replicas s3://bucket/blobd
              blobd replicas s3://bucket/blobd --json | jq .alive.age_seconds
            """)

    @Argument(help: .named("url", "The bucket and prefix: s3://bucket/prefix."))
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
        try StandardOutput.write(json ? try JSONLine.object(report.members) : report.text)
    }
}

private struct ObjectInventory {
    struct Kind: Encodable {
        var objects = 0
        var bytes = 0
    }

    static let kinds = ["log", "base", "blob"]
    private(set) var sizes: [String: Kind] = [:]
    private(set) var logNumbers: [UInt64] = []

    init(_ objects: ObjectBucket) throws(ObjectStoreError) {
        let client = try objects.makeClient()
        for kind in Self.kinds {
            var size = Kind()
            var position: ObjectListPosition?
            repeat {
                let page = try client.list("\(kind)/", from: position)
                for object in page.objects {
                    size.objects += 1
                    size.bytes += object.byteCount
                    if let number = ShardNames.number(object.key, after: ShardNames.logPrefix) {
                        logNumbers.append(number)
                    }
                }
                position = page.next
            } while position != nil
            sizes[kind] = size
        }
    }
}

private struct ReplicaReport {
    private(set) var members: JSONObject
    private(set) var text = ""

    /// Reads the documents, the newest segment, and of a new shard the oldest.
    init(
        _ url: String, _ inventory: ObjectInventory, on bucket: S3Bucket, asOf now: Timestamp
    ) throws {
        let storeID = try StoreDocument.read(on: bucket).storeID
        members = [
            "url": url, "store_id": storeID, "objects": inventory.sizes,
        ]
        line("store", storeID)
        let head = try inventory.logNumbers.max().flatMap { try Segment.read($0, on: bucket)?.head }
        try addLeader(head?.epoch ?? 0, of: storeID, on: bucket, asOf: now)
        addLog(head, asOf: now)
        var catalog = BaseCatalog(of: storeID)
        try catalog.refresh(on: bucket)
        addBases(catalog)
        for kind in ObjectInventory.kinds {
            guard let size = inventory.sizes[kind] else { continue }
            line(
                "\(kind)/",
                "\(HumanText.count(size.objects)) objects, \(HumanText.bytes(size.bytes))")
        }
        guard let head else { return }
        // A base is as old as the retention, except in a new shard, whose first segment is a fence and stays.
        var first = catalog.bases.map { ($0.position.number, $0.time) }.min { $0.0 < $1.0 }
        if first.map({ head.time.milliseconds - $0.1.milliseconds < Self.measuredMin }) ?? true,
            let oldest = try inventory.logNumbers.min().flatMap({ try Segment.read($0, on: bucket) }
            )
        {
            first = (oldest.head.number, oldest.head.time)
        }
        guard let first, first.0 < head.number else { return }
        addMonth(
            segments: head.number - first.0,
            milliseconds: head.time.milliseconds - first.1.milliseconds,
            byteCount: inventory.sizes.values.reduce(0) { $0 + $1.bytes })
    }

    private mutating func line(_ title: String, _ words: String) {
        text += HumanText.padded(title, to: 10) + words + "\n"
    }

    private static func text(_ time: Timestamp) -> String {
        CommandLineText.text(milliseconds: time.milliseconds)
    }

    private mutating func addLog(_ head: Segment.Head?, asOf now: Timestamp) {
        guard let head else { return line("log", "empty") }
        let time = Self.text(head.time)
        let age = now.milliseconds - head.time.milliseconds
        // The leader has stepped down.
        let hasEnded = head.kind == .end
        members["log"] =
            [
                "segment": head.number, "sequence": head.sequence, "time": time,
                "age_seconds": Double(age) / 1_000, "has_ended": hasEnded,
            ] as JSONObject
        line(
            "log",
            "batch \(HumanText.count(head.sequence)) in segment \(head.number) of \(time), \(HumanText.duration(milliseconds: age)) ago\(hasEnded ? ", and the leader has stepped down" : "")"
        )
    }

    private mutating func addLeader(
        _ epoch: UInt64, of storeID: String, on bucket: S3Bucket, asOf now: Timestamp
    ) throws(ReplicationError) {
        let found: AliveDocument?
        do throws(ReplicationError) {
            found = try AliveDocument.read(epoch, of: storeID, on: bucket)
        } catch {
            guard case .damaged(_, let why) = error else { throw error }
            return line("leader", "unknown: the object of epoch \(epoch) \(why)")
        }
        guard let found else {
            return line(
                "leader", epoch == 0 ? "none" : "none of epoch \(epoch) has said that it leads yet")
        }
        let (since, age) = (Self.text(found.since), now.milliseconds - found.time.milliseconds)
        members["leader"] = ["epoch": epoch, "host": found.host, "since": since] as JSONObject
        members["alive"] =
            ["epoch": epoch, "age_seconds": Double(age) / 1_000, "segment": found.segment]
            as JSONObject
        line("leader", "\(HumanText.line(found.host)), epoch \(epoch), since \(since)")
        line("alive", "\(HumanText.duration(milliseconds: age)) ago")
    }

    private mutating func addBases(_ catalog: BaseCatalog) {
        let damaged = catalog.problems.map(\.description)
        members["damaged_bases"] = damaged
        members["bases"] = catalog.bases.map { base -> JSONObject in
            let (number, time) = (base.position.number, Self.text(base.time))
            line(
                "base",
                "batch \(HumanText.count(base.sequence)) after segment \(number), \(time), \(HumanText.bytes(base.byteCount))"
            )
            return [
                "segment": number, "sequence": base.sequence, "time": time,
                "bytes": base.byteCount,
            ]
        }
        for problem in damaged { line("base", "damaged: \(problem)") }
        if catalog.bases.isEmpty { line("base", "none: nothing can be restored yet") }
    }

    private static let measuredMin: Int64 = 3_600_000
    private static let dollarsPerPut = 5.0 / 1_000_000
    private static let dollarsPerGet = 0.4 / 1_000_000
    private static let dollarsPerByte = 0.023 / 1_000_000_000
    private static let monthMilliseconds = 30 * 86_400_000.0
    private static let followerGets = 4 * 30 * 86_400.0

    /// Adds an estimate of 30 days at the rate at which so many segments were written.
    private mutating func addMonth(segments: UInt64, milliseconds: Int64, byteCount: Int) {
        guard milliseconds > 0 else { return }
        // Each segment is read once by its leader.
        let gets = Double(segments) * Self.monthMilliseconds / Double(milliseconds)
        // A base per day.
        let puts = gets + 60
        func cents(_ dollars: Double) -> Int { Int((dollars * 100).rounded()) }
        func text(_ cents: Int) -> String {
            "$\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)"
        }
        let requests = cents(puts * Self.dollarsPerPut + gets * Self.dollarsPerGet)
        let storage = cents(Double(byteCount) * Self.dollarsPerByte)
        let follower = cents(Self.followerGets * Self.dollarsPerGet)
        members["month"] =
            [
                "measured_seconds": Double(milliseconds) / 1_000, "puts": Int(puts),
                "gets": Int(gets),
                "dollars_of_requests": Double(requests) / 100,
                "dollars_of_storage": Double(storage) / 100,
                "dollars_per_follower": Double(follower) / 100,
            ] as JSONObject
        line(
            "a month",
            "at the rate of the last \(HumanText.duration(milliseconds: milliseconds)), about \(HumanText.count(Int(puts))) PUT and \(HumanText.count(Int(gets))) GET: \(text(requests)), storage \(text(storage)), each follower \(text(follower))"
        )
    }
}
