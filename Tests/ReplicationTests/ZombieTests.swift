import BlobStore
import Replication
import Synchronization
import TestSupport
import Testing

/// Leaders that stop in the middle of anything, and go on when others lead.
@Suite struct ZombieTests {
    /// A member, and what it was told to be in the bucket.
    private final class Host {
        private(set) var member: Member
        /// Ids of changes that were acknowledged as replicated here.
        var acknowledged: [String] = []
        /// Published, with the batch that each is in.
        var waiting: [(id: String, sequence: UInt64)] = []
        var isDeposed = false
        private var count = 0

        init(_ member: Member) {
            self.member = member
            member.schedule = ZombieTests.schedule
        }

        /// Long payloads are objects, which are collected.
        func publish(isLong: Bool) throws {
            let id = "\(member.name)-\(count)"
            count += 1
            let bytes = isLong ? SeededGenerator.bytes(70_000, seed: UInt64(count)) : []
            try member.store.put(id, Array(id.utf8) + bytes, seconds: 86_400_000)
            waiting.append((id, member.store.lastSequence))
        }

        private func ignoringCuts(_ error: any Error) throws {
            switch error as? ReplicationError {
            case .bucket: break
            case .deposed: isDeposed = true
            default: if !(error is BucketError) { throw error }
            }
        }

        /// Does what is due in the bucket beside shipping, once.
        func maintain() throws {
            guard !isDeposed, member.shipper != nil else { return }
            do { try member.maintain() } catch let failure as TestFailure {
                // Deposed, or cut twice in the same step.
                if "\(failure)".contains("deposed") { isDeposed = true }
            } catch { try ignoringCuts(error) }
        }

        /// Takes the lead. A host that was away for so long that the log is gone is made anew first.
        ///
        /// - Returns: whether it leads.
        func takeOver(_ objects: MemoryObjects) throws -> Bool {
            do {
                guard case .leads = try member.takeOver() else { return false }
                return true
            } catch ReplicationError.tooOld {
                do {
                    member = try Member(member.name, seededFrom: objects, clock: member.clock)
                    member.schedule = ZombieTests.schedule
                } catch { try ignoringCuts(error) }
            } catch { try ignoringCuts(error) }
            return false
        }

        /// One step of shipping. A request that is cut is sent again with the next step.
        func ship(appendsEmpty: Bool = false) throws {
            guard !isDeposed, member.shipper != nil else { return }
            do {
                let step = try member.shipper?.step(
                    on: member.bucket, asOf: member.clock.now, appendsEmpty: appendsEmpty)
                if case .deposed = step { isDeposed = true }
            } catch {
                try ignoringCuts(error)
            }
            let shipped = member.store.shippedSequence
            acknowledged += waiting.filter { $0.sequence <= shipped }.map(\.id)
            waiting.removeAll { $0.sequence <= shipped }
        }
    }

    @Test("Nothing is acknowledged behind a fence, and nothing that was is lost", arguments: 0..<4)
    func zombies(number: Int) throws {
        for round in 0..<LongRuns.count("ZOMBIE_SEEDS", usually: 40) / 4 {
            zombie(seed: testSeed(UInt64(round * 4 + number)))
        }
        let all = Self.totals.withLock { $0 }
        print(
            "zombies: so far \(all.takeOvers) take-overs, \(all.acknowledged) changes acknowledged as replicated, \(all.deleted) objects deleted"
        )
    }

    private func zombie(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        do {
            try play(&generator)
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
    }

    private func play(_ generator: inout SeededGenerator) throws {
        let (objects, clock) = (MemoryObjects(), TestClock())
        let first = Host(try Member("a", objects, clock: clock))
        try first.member.begin()
        try first.member.writeBase()
        var hosts = [first]
        for name in ["b", "c"] {
            hosts.append(Host(try Member(name, seededFrom: objects, clock: clock)))
        }
        var own = SeededGenerator(seed: generator.next())
        var cuts = true
        /// One request in eight is cut: before it was done, or behind that.
        func connect(_ bucket: MemoryBucket) {
            bucket.cut = { _ in
                guard cuts else { return .none }
                return switch own.below(16) {
                case 0: .before
                case 1: .after
                default: .none
                }
            }
        }
        for host in hosts {
            connect(host.member.bucket)
            connect(host.member.upkeep)
        }
        objects.onConnect = connect
        var leaders = [first]
        var takeOverCount = 0
        let stepCount = generator.below(60) + 20
        // Every seed has a leader that sleeps while another one collects everything.
        let sleep = generator.below(stepCount)
        for step in 0..<stepCount {
            let leader = leaders[generator.below(leaders.count)]
            switch step == sleep ? 11 : generator.below(12) {
            case 0..<5: if !leader.isDeposed { try leader.publish(isLong: generator.chance(20)) }
            case 5..<9: try leader.ship()
            case 9: try leader.maintain()
            case 10:
                // The newest leader goes on while all the others sleep, until all that may go is gone.
                try Self.collectEverything(leaders[leaders.count - 1], clock, &generator)
            default:
                // Another host takes over, while the leaders before are anywhere.
                guard let next = hosts.first(where: { host in !leaders.contains { $0 === host } })
                else { break }
                // A person who promotes it tries again when a request was cut.
                var leads = false
                for _ in 0..<8 where !leads {
                    leads = try next.takeOver(objects)
                }
                guard leads else { break }
                leaders.append(next)
                takeOverCount += 1
                if step == sleep || generator.chance(50) {
                    try Self.collectEverything(next, clock, &generator)
                }
            }
        }
        cuts = false
        for host in leaders { for _ in 0..<4 { try host.ship(appendsEmpty: true) } }
        // Of all who led, one leads.
        let ruling = leaders.filter { !$0.isDeposed }
        #expect(ruling.count <= 1, "\(ruling.count) lead")
        let reader = Host(try Member("reader", seededFrom: objects, clock: clock))
        try reader.member.follow()
        for host in hosts {
            for id in host.acknowledged {
                guard try reader.member.store.record(for: id, asOf: noon) != nil else {
                    throw TestFailure("\(id) was acknowledged as replicated, and is lost")
                }
            }
        }
        if let leader = ruling.first {
            try leader.member.ship()
            try reader.member.follow()
            #expect(try reader.member.contents() == leader.member.contents())
        }
        Self.totals.withLock {
            $0.takeOvers += takeOverCount
            $0.acknowledged += hosts.reduce(0) { $0 + $1.acknowledged.count }
            $0.deleted += hosts.reduce(0) { $0 + ($1.member.upkeep.counts[.delete] ?? 0) }
        }
    }

    /// What all seeds did, so that nobody takes an empty run for a good one.
    private struct Totals {
        var takeOvers = 0
        var acknowledged = 0
        var deleted = 0
    }

    private static let totals = Mutex(Totals())

    /// So short that a few rounds collect everything.
    private static let schedule = BaseSchedule(
        intervalMilliseconds: 300_000, retentionMilliseconds: 300_000)

    /// Packs all of the log, makes bases, and deletes what no base and no segment of the retention names.
    private static func collectEverything(
        _ leader: Host, _ clock: TestClock, _ generator: inout SeededGenerator
    ) throws {
        for _ in 0..<4 {
            if !leader.isDeposed { try leader.publish(isLong: generator.chance(50)) }
            for _ in 0..<3 { try leader.ship(appendsEmpty: true) }
            clock.advance(milliseconds: ReplicationLimits.packGraceMilliseconds)
            for _ in 0..<3 { try leader.maintain() }
        }
    }

    @Test("Where a fence is deleted, the leader before goes on: so fences stay")
    func deletedFence() throws {
        let objects = MemoryObjects()
        let old = try Member("old", objects)
        try old.begin()
        try old.writeBase()
        let new = try Member("new", seededFrom: objects)
        guard case .leads(_, _, let fence) = try new.takeOver() else {
            Issue.record("no lead")
            return
        }
        objects[ShardNames.log(fence.number)] = nil
        try old.store.put("zombie", [1])
        let step = try old.shipper?.step(on: old.bucket, asOf: noon, appendsEmpty: false)
        guard case .shipped = step else {
            Issue.record("without the fence the old leader must be able to go on: \(step as Any)")
            return
        }
    }
}
