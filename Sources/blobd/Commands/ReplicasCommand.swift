import ArgumentParser
import BlobStore
import Glibc
import ObjectStore
import Replication

/// `blobd replicas`: shows a replicated store's bucket.
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
        try StandardOutput.write(json ? try JSONLine.text(report) : report.text)
    }
}

struct ObjectInventory {
    /// Objects with the same prefix.
    struct Kind: Encodable, Equatable {
        var objects = 0
        var bytes = 0
    }

    static let kinds = ["epoch", "log", "pack", "base", "blob"]
    private(set) var sizes: [String: Kind] = [:]
    private(set) var logNumbers: [UInt64] = []
    private(set) var packs: [ClosedRange<UInt64>] = []

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

/// What `blobd replicas` prints.
struct ReplicaReport: Encodable {
    struct Leader: Encodable {
        var epoch: UInt64
        var host: String
        var since: String
    }

    struct Log: Encodable {
        var segment: UInt64
        var sequence: UInt64
        var time: String
        var ageSeconds: Double
        /// Whether the leader has stepped down.
        var hasEnded: Bool
    }

    struct Base: Encodable {
        var segment: UInt64
        var sequence: UInt64
        var time: String
        var bytes: Int
    }

    /// An estimate, of 30 days.
    struct Month: Encodable {
        var puts: Int
        var gets: Int
        var dollarsOfRequests: Double
        var dollarsOfStorage: Double
        var dollarsPerFollower: Double
    }

    var url: String
    var storeID: String
    var leader: Leader?
    var log: Log?
    var bases: [Base] = []
    /// Why bases cannot be used.
    var damagedBases: [String] = []
    var packs = 0
    var objects: [String: ObjectInventory.Kind]
    var month: Month?

    private enum CodingKeys: String, CodingKey {
        case url, storeID, leader, log, bases, damagedBases, packs, objects, month
    }

    /// Reads the documents, the newest segment, and one that is about an hour older.
    init(
        _ url: String, _ inventory: ObjectInventory, on bucket: S3Bucket, asOf now: Timestamp
    ) throws {
        self.url = url
        storeID = try StoreDocument.read(on: bucket).storeID
        objects = inventory.sizes
        packs = inventory.packs.count
        if let newest = try Epochs.newest(on: bucket) {
            leader = Leader(
                epoch: newest.number, host: newest.document.host,
                since: CommandLineText.text(milliseconds: newest.document.time.milliseconds))
        }
        var catalog = BaseCatalog(of: storeID)
        try catalog.refresh(on: bucket)
        bases = catalog.bases.map { manifest in
            Base(
                segment: manifest.position.number, sequence: manifest.sequence,
                time: CommandLineText.text(milliseconds: manifest.time.milliseconds),
                bytes: manifest.byteCount)
        }
        damagedBases = catalog.damaged.sorted { $0.key < $1.key }.map(\.value.description)
        guard let last = inventory.logNumbers.max(),
            let head = try Segment.read(last, on: bucket)?.head
        else { return }
        log = Log(
            segment: last, sequence: head.sequence,
            time: CommandLineText.text(milliseconds: head.time.milliseconds),
            ageSeconds: Double(now.milliseconds - head.time.milliseconds) / 1_000,
            hasEnded: head.kind == .end)
        // Segments that are not packed yet, or packed less than ten minutes ago.
        let first = inventory.logNumbers.sorted().last { $0 + Self.countedMax <= last }
        let counted = first ?? inventory.logNumbers.min() ?? last
        guard counted < last, let earlier = try Segment.read(counted, on: bucket)?.head else {
            return
        }
        month = Self.month(
            segments: last - counted,
            milliseconds: head.time.milliseconds - earlier.time.milliseconds,
            byteCount: inventory.byteCount)
    }

    /// How many segments are counted at most.
    private static let countedMax: UInt64 = 100
    private static let dollarsPerPut = 5.0 / 1_000_000
    private static let dollarsPerGet = 0.4 / 1_000_000
    private static let dollarsPerByte = 0.023 / 1_000_000_000
    private static let monthMilliseconds = 30 * 86_400_000.0
    private static let followerGets = 4 * 30 * 86_400.0

    private static func month(segments: UInt64, milliseconds: Int64, byteCount: Int) -> Month? {
        guard milliseconds > 0 else { return nil }
        let appended = Double(segments) * monthMilliseconds / Double(milliseconds)
        // A pack every five minutes, and a base a day.
        let puts = appended + monthMilliseconds / 300_000 + 60
        // Each segment is read once for its pack.
        let gets = appended
        return Month(
            puts: Int(puts), gets: Int(gets),
            dollarsOfRequests: cents(puts * dollarsPerPut + gets * dollarsPerGet),
            dollarsOfStorage: cents(Double(byteCount) * dollarsPerByte),
            dollarsPerFollower: cents(followerGets * dollarsPerGet))
    }

    private static func cents(_ dollars: Double) -> Double { (dollars * 100).rounded() / 100 }

    var text: String {
        var text = "store     \(storeID)\n"
        if let leader {
            text +=
                "leader    \(HumanText.line(leader.host)), epoch \(leader.epoch), since \(leader.since)\n"
        } else {
            text += "leader    none\n"
        }
        if let log {
            text +=
                "log       batch \(HumanText.count(log.sequence)) in segment \(log.segment) of \(log.time), \(age(log.ageSeconds)) ago\(log.hasEnded ? ", and the leader has stepped down" : "")\n"
        } else {
            text += "log       empty\n"
        }
        for base in bases {
            text +=
                "base      batch \(HumanText.count(base.sequence)) after segment \(base.segment), \(base.time), \(HumanText.bytes(base.bytes))\n"
        }
        for damaged in damagedBases { text += "base      damaged: \(damaged)\n" }
        if bases.isEmpty { text += "base      none: nothing can be restored yet\n" }
        for kind in ObjectInventory.kinds {
            guard let size = objects[kind] else { continue }
            let name = "\(kind)/" + String(repeating: " ", count: 10 - kind.count - 1)
            text +=
                "\(name)\(HumanText.count(size.objects)) objects, \(HumanText.bytes(size.bytes))\n"
        }
        if let month {
            text +=
                "a month   about \(HumanText.count(month.puts)) PUT and \(HumanText.count(month.gets)) GET: $\(dollars(month.dollarsOfRequests)), storage $\(dollars(month.dollarsOfStorage)), each follower $\(dollars(month.dollarsPerFollower))\n"
        }
        return text
    }

    private func age(_ seconds: Double) -> String {
        HumanText.duration(milliseconds: Int64(seconds * 1_000))
    }

    private func dollars(_ amount: Double) -> String {
        let cents = Int((amount * 100).rounded())
        return "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)"
    }
}
