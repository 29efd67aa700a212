import BlobClient
import Glibc
import Replication
import TestSupport

/// A leader is stopped in the middle of whatever it does, and continues when another one leads and all that may go is
/// gone from the bucket.
struct ZombiesScenario: ShardScenario {
    static let about = About(
        "zombies",
        "A leader sleeps (SIGSTOP) until another one leads and has collected everything.",
        """
        Under publishers who wait for the bucket, and one who does not, the leader's process is stopped. Its follower
        is promoted, takes changes, and its time of day is moved until it has collected all that
        the old leader knew of the bucket. Then the old one continues. What it acknowledges as replicated must be at
        the new leader, and at a host that is made anew from the bucket; what it had acknowledged and not shipped must
        be in the files that it saves. It follows in the end.
        """)

    @Setting(50, short: 1, "How often a leader is stopped.") var rounds: Int
    @Setting(8, "How many publish at the same time.") var publishers: Int
    @Setting(
        false,
        "Delete the fence by hand before the old leader continues, and pass as soon as a change is lost that it acknowledged as replicated."
    )
    var withoutFence: Bool

    var isControl: Bool { withoutFence }

    func play(_ round: inout Round) throws -> String {
        let clock = try MovedClock(folder: round.bench.folder)
        let bucket = try round.shard.bucket()
        let old = try round.serve("old", "--replicate")
        try settle([old], withinSeconds: 120, "at the start")
        let new = try round.serve(
            "new", "--follow", prefix: clock.prefix,
            ["--base-interval", "60s", "--retention", "60s"])

        // Until the leader is stopped, in the middle of anything.
        func crowd(
            _ name: String, _ count: Int, waits: Bool = true, rest: Int = 1_000,
            _ change: (inout Publisher.Plan) -> Void = { _ in }
        ) -> [Publisher] {
            round.crowd(name, count, waits: waits, bytes: 20...120_000) {
                $0.pipelineMax = 1
                $0.rest = { _ in rest }
                change(&$0)
            }
        }
        let olds = crowd("old", publishers)
        // Each id once: what is lost of them is looked for in files.
        let local = crowd("local", 1, waits: false) {
            ($0.idCount, $0.deletePercent) = (1_000_000, 0)
        }
        let oldStop = StopSign()
        let oldThreads = try round.start(olds + local, at: [old], until: oldStop)
        Clock.pause(microseconds: Int.random(in: 200_000...800_000, using: &round.generator))
        old.signal(SIGSTOP)
        let before = Publisher.acknowledgedCount(olds)

        // Another one leads, and collects all there is.
        try new.promote(isForced: true)
        let fences = try fences(on: bucket)
        let others = crowd("new", publishers, rest: 20_000)
        let newStop = StopSign()
        let newThreads = try round.start(others, at: [new], until: newStop)
        let deleted = try collectEverything(clock, on: bucket, but: fences)
        if withoutFence {
            for number in fences { try bucket.delete(ShardNames.log(number)) }
        }

        // The old one continues, and is asked for more at once.
        old.signal(SIGCONT)
        let late = crowd("late", 1)
        let lateThreads = try round.start(late, at: [old], until: oldStop)
        // Without the fence it may lead for as long as it likes.
        try Clock.wait(
            milliseconds: 180_000, orThrow: "the old leader neither follows nor ends within 180 s"
        ) {
            let now = Publisher.acknowledgedCount(olds + late)
            return !old.isRunning || old.report?.role == "follower"
                || withoutFence && now > before + olds.count
        }
        oldStop.putUp()
        newStop.putUp()
        for threads in [oldThreads, lateThreads, newThreads] { try threads.join() }
        try require(
            others.allSatisfy { $0.acknowledgedCount > 0 }, "the new leader acknowledged nothing")

        let all = olds + late + others
        if withoutFence {
            // The new leader must serve, so that what is wrong is what it has.
            var asking = try new.connect()
            try asking.ping()
            let lost = try Publisher.faults(all, at: [new.socket], round: 0).faults
            guard let first = lost.first else { return "nothing is lost" }
            throw AsExpected(words: "\(lost.count) changes are lost, the first of them \(first)")
        }
        let third = try round.serve("third", "--follow")
        // One that exited is started again.
        try settle([old, new, third], withinSeconds: 180, "after the zombie")
        try Publisher.check(
            all, at: [new, third, old].map { $0.socket }, "after the zombie")
        let saved = try checkSaved(
            local.flatMap { try $0.missingIDs(at: new.socket) }, old.bench.data)
        try third.stop()
        for host in [old, new] { try host.verifyStopped() }
        let refused = (olds + late + local).reduce(0) { $0 + $1.refusedCount }
        return
            "\(Publisher.acknowledgedCount(all)) changes acknowledged as replicated, \(Publisher.acknowledgedCount(olds + late) - before) of them by a leader that woke up, \(refused) refused; \(saved) local ones found in saved files; \(deleted) objects collected while it slept; \(old.exits) exits"
    }

    /// The numbers of all fences of the log.
    private func fences(on bucket: S3Bucket) throws -> [UInt64] {
        try bucket.names(ShardNames.logPrefix).compactMap { name in
            let bytes = try bucket.get(
                name, byteCountMax: ReplicationLimits.segmentByteCountMax)
            guard let bytes, try Segment(bytes).head.kind == .fence else { return nil }
            return ShardNames.number(name, after: ShardNames.logPrefix)
        }
    }

    /// Moves the new leader's clock until nothing is left of the log and the bases that were there.
    ///
    /// - Returns: how many objects were deleted.
    private func collectEverything(
        _ clock: MovedClock, on bucket: S3Bucket, but fences: [UInt64]
    ) throws -> Int {
        func collectable() throws -> Set<String> {
            let kept = Set(fences.map(ShardNames.log))
            return Set(
                try [ShardNames.logPrefix, ShardNames.basePrefix]
                    .flatMap { try bucket.names($0) }
            ).subtracting(kept)
        }
        let all = try collectable()
        let blobs = try bucket.names(ShardNames.blobPrefix)
        var seconds: Int64 = 0
        let end = Clock.milliseconds() + 180_000
        while true {
            let rest = try collectable().intersection(all)
            if rest.isEmpty { break }
            try require(
                Clock.milliseconds() < end,
                "\(rest.count) objects are not collected within 180 s: \(rest.sorted().prefix(3).joined(separator: ", "))"
            )
            // Longer than a base's interval, and shorter than segments stay after a base.
            seconds += 200
            try clock.set(seconds: seconds)
            Clock.pause(microseconds: 300_000)
        }
        let goneBlobs = Set(blobs).subtracting(try bucket.names(ShardNames.blobPrefix))
        return all.count + goneBlobs.count
    }

    /// Looks for notifications in the files that a deposed leader saved.
    ///
    /// - Returns: how many they are.
    private func checkSaved(_ ids: [String], _ data: String) throws -> Int {
        guard !ids.isEmpty else { return 0 }
        guard
            let saved = Files.names(in: data).first(where: { $0.hasPrefix("unreplicated-epoch-") })
        else {
            throw TestFailure(
                "\(ids.count) local changes are lost, and nothing is saved in \(data)")
        }
        let folder = "\(data)/\(saved)/log"
        var texts: Set<String> = []
        for name in Files.names(in: folder) {
            let segment = try Segment(Files.read("\(folder)/\(name)"))
            let bytes = segment.bytes
            for id in ids where bytes.contains(Array(id.utf8)) { texts.insert(id) }
        }
        let missing = ids.filter { !texts.contains($0) }
        try require(
            missing.isEmpty,
            "\(missing.count) of \(ids.count) local changes are neither at the new leader nor saved: \(missing.prefix(5).joined(separator: ", "))"
        )
        return ids.count
    }
}
