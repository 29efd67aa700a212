import ArgumentParser
import BlobClient
import Glibc
import Replication
import TestSupport

/// A leader is stopped in the middle of whatever it does, and goes on when another one leads and all that may go is
/// gone from the bucket.
struct ZombiesScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "zombies",
        abstract: "A leader sleeps (SIGSTOP) until another one leads and has collected everything.",
        discussion: """
            Under publishers who wait for the bucket, and one who does not, the leader's process is stopped. Its \
            follower is promoted, takes changes, and its time of day is moved until it has packed, collected and \
            deleted all that the old leader knew of the bucket. Then the old one goes on. What it acknowledges \
            as replicated must be at the new leader, and at a host that is made anew from the bucket; what it had \
            acknowledged and not shipped must be in the files that it saves. It follows in the end.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "How often a leader is stopped. With --short: 1.")
    var rounds: Int?

    @Option(help: "How many publish at the same time.")
    var publishers = 8

    @Option(help: "The server: moto or rgw.")
    var server = "moto"

    @Flag(
        help: """
            Delete the fence by hand before the old leader goes on, and pass as soon as a change is lost that \
            it acknowledged as replicated.
            """)
    var withoutFence = false

    var secondsMax: UInt32 { UInt32(clamping: 180 + roundCount * 90) }

    private var roundCount: Int { rounds ?? (options.short ? 1 : 50) }

    private struct Figures {
        var acknowledged = 0
        var acknowledgedLate = 0
        var refused = 0
        var saved = 0
        var deleted = 0
        var restarts = 0

        var words: String {
            "\(acknowledged) changes acknowledged as replicated, \(acknowledgedLate) of them by a leader that woke up, \(refused) refused; \(saved) local ones found in saved files; \(deleted) objects collected while leaders slept; \(restarts) of them made anew, the others followed at once"
        }
    }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let clock = try MovedClock(folder: bench.folder)
        var figures = Figures()
        for round in 1...roundCount {
            let shard = try ShardUnderTest(server, "zombies-\(bench.seed)-\(round)")
            let folder = bench.folder + "/\(round)"
            mkdir(folder, 0o755)
            let part = Workbench(folder: folder, blobd: bench.blobd)
            do {
                if let fault = try play(part, shard, clock, round, bench.seed, &bench, &figures) {
                    return ["as expected, a change is lost in round \(round): \(fault)"]
                }
            } catch { throw TestFailure("round \(round): \(error)") }
            Files.remove(folder)
            if round % 10 == 0 { say("zombies: round \(round), \(figures.words)") }
        }
        try require(
            !withoutFence,
            "without the fence nothing was lost in \(roundCount) rounds, where something had to be")
        return ["\(roundCount) rounds with \(server)", figures.words]
    }

    /// - Returns: what was lost, without the fence.
    private func play(
        _ part: Workbench, _ shard: ShardUnderTest, _ clock: MovedClock, _ round: Int,
        _ seed: UInt64, _ bench: inout Workbench, _ figures: inout Figures
    ) throws -> String? {
        try clock.set(seconds: 0)
        let bucket = try shard.bucket()
        let old = try shard.serve("old", "--replicate", part)
        try settle([old], withinSeconds: 120, "at the start")
        let new = try shard.serve(
            "new", "--follow", part, prefix: clock.prefix,
            arguments: ["--base-interval", "60s", "--retention", "60s"])

        // Until the leader is stopped, in the middle of anything.
        var plan = Publisher.Plan()
        plan.publisherCount = publishers
        plan.persists = true
        plan.awaitsReplication = true
        plan.pipelineMax = 1
        plan.rest = { _ in 1_000 }
        plan.byteCounts = 20...120_000
        func crowd(
            _ name: String, _ change: (inout Publisher.Plan) -> Void = { _ in }
        ) -> [Publisher] {
            var own = plan
            own.name = name
            change(&own)
            return Publisher.crowd(own, using: &bench.generator)
        }
        let olds = crowd("old")
        // Each id once: what is lost of them is looked for in files.
        let local = crowd("local") {
            ($0.publisherCount, $0.idCount, $0.deletePercent) = (1, 1_000_000, 0)
            $0.awaitsReplication = false
        }
        let (oldStop, oldSocket) = (StopSign(), old.socket)
        func start(
            _ crowd: [Publisher], at socket: String, until stop: StopSign
        ) throws -> Threads {
            try Threads.start(crowd.count) { index in
                try crowd[index].work(at: [socket], seed: seed, round: round, until: stop)
            }
        }
        let oldThreads = try start(olds + local, at: oldSocket, until: oldStop)
        Clock.pause(microseconds: Int.random(in: 200_000...800_000, using: &bench.generator))
        old.signal(SIGSTOP)
        let before = Publisher.acknowledgedCount(olds)

        // Another one leads, and collects all there is.
        try new.promote(isForced: true)
        let fences = try fences(on: bucket)
        let others = crowd("new") { $0.rest = { _ in 20_000 } }
        let (newStop, newSocket) = (StopSign(), new.socket)
        let newThreads = try start(others, at: newSocket, until: newStop)
        figures.deleted += try collectEverything(clock, on: bucket, but: fences)
        if withoutFence {
            for number in fences { try bucket.delete(ShardNames.log(number)) }
        }

        // The old one goes on, and is asked for more at once.
        old.signal(SIGCONT)
        let late = crowd("late") { $0.publisherCount = 1 }
        let lateThreads = try start(late, at: oldSocket, until: oldStop)
        // Without the fence it may lead for as long as it likes.
        let isDone = Clock.wait(milliseconds: 60_000) {
            let now = Publisher.acknowledgedCount(olds + late)
            return !old.isRunning || old.report?.role == "follower"
                || withoutFence && now > before + olds.count
        }
        try require(isDone, "the old leader neither follows nor ends within 60 s")
        oldStop.putUp()
        try oldThreads.join()
        try lateThreads.join()
        newStop.putUp()
        try newThreads.join()
        try require(
            others.allSatisfy { $0.acknowledgedCount > 0 }, "the new leader acknowledged nothing")

        let all = olds + late + others
        if withoutFence {
            // The new leader must serve, so that what is wrong is what it has.
            var asking = try new.connect()
            try asking.ping()
            let lost = try Publisher.faults(all, at: [newSocket], round: round).faults
            guard let first = lost.first else { return nil }
            return "\(lost.count) changes, the first of them \(first)"
        }
        let third = try shard.serve("third", "--follow", part)
        // One that exited is started again.
        try settle([old, new, third], withinSeconds: 180, "after the zombie")
        figures.restarts += old.exits
        try Publisher.check(
            all, at: [newSocket, third.socket, oldSocket], round: round, "after the zombie")
        figures.saved += try checkSaved(local.flatMap { try $0.missingIDs(at: newSocket) }, part)
        figures.acknowledged += Publisher.acknowledgedCount(all)
        figures.acknowledgedLate += Publisher.acknowledgedCount(olds + late) - before
        figures.refused += (olds + late + local).reduce(0) { $0 + $1.refusedCount }
        try third.stop()
        for host in [old, new] { try host.verifyStopped() }
        return nil
    }

    /// The numbers of all fences of the log.
    private func fences(on bucket: S3Bucket) throws -> [UInt64] {
        try numbers(on: bucket).filter { number in
            let bytes = try bucket.get(
                ShardNames.log(number), byteCountMax: ReplicationLimits.segmentByteCountMax)
            return try bytes.map { try Segment($0).head.kind == .fence } ?? false
        }
    }

    private func numbers(on bucket: S3Bucket) throws -> [UInt64] {
        try bucket.names(ShardNames.logPrefix).compactMap {
            ShardNames.number($0, behind: ShardNames.logPrefix)
        }
    }

    /// Moves the new leader's clock until nothing is left of the log, the bases and the packs that were there.
    ///
    /// - Returns: how many objects were deleted.
    private func collectEverything(
        _ clock: MovedClock, on bucket: S3Bucket, but fences: [UInt64]
    ) throws -> Int {
        func collectable() throws -> Set<String> {
            let kept = Set(fences.map(ShardNames.log))
            return Set(
                try [ShardNames.logPrefix, ShardNames.basePrefix, ShardNames.packPrefix]
                    .flatMap { try bucket.names($0) }
            ).subtracting(kept)
        }
        let all = try collectable()
        let blobs = try bucket.names(ShardNames.blobPrefix)
        var (seconds, packs) = (Int64(0), Set<String>())
        let end = Clock.milliseconds() + 60_000
        while true {
            let left = try collectable()
            let rest = left.intersection(all)
            packs.formUnion(left.filter { $0.hasPrefix(ShardNames.packPrefix) })
            // Also the packs that were made meanwhile, of all that was there.
            if rest.isEmpty,
                packs.count > left.count(where: { $0.hasPrefix(ShardNames.packPrefix) })
            {
                break
            }
            try require(
                Clock.milliseconds() < end,
                "\(rest.count) objects are not collected within 60 s: \(rest.sorted().prefix(3).joined(separator: ", "))"
            )
            // Longer than a base's interval, and shorter than segments wait for their pack.
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
    private func checkSaved(_ ids: [String], _ part: Workbench) throws -> Int {
        guard !ids.isEmpty else { return 0 }
        let data = part.folder + "/old/data"
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
