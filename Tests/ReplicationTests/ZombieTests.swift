import BlobStore
import Replication
import TestSupport
import Testing

/// Leaders that stop in the middle of anything, and go on when others lead.
@Suite struct ZombieTests {
    /// A member, and what it was told to be in the bucket.
    private final class Host {
        let member: Member
        /// Ids of changes that were acknowledged as replicated here.
        var acknowledged: [String] = []
        /// Published, with the batch that each is in.
        var waiting: [(id: String, sequence: UInt64)] = []
        var isDeposed = false
        private var count = 0

        init(_ member: Member) { self.member = member }

        func publish() throws {
            let id = "\(member.name)-\(count)"
            count += 1
            try member.store.put(id, Array(id.utf8))
            waiting.append((id, member.store.lastSequence))
        }

        private func ignoringCuts(_ error: any Error) throws {
            guard case .bucket = error as? ReplicationError else { throw error }
        }

        /// One step of shipping. A request that is cut is sent again with the next step.
        func ship(appendsEmpty: Bool = false) throws {
            guard !isDeposed, member.shipper != nil else { return }
            do {
                let step = try member.shipper?.step(
                    on: member.bucket, asOf: noon, appendsEmpty: appendsEmpty)
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
        for _ in 0..<LongRuns.count("ZOMBIE_SEEDS", usually: 40) / 4 { try zombie() }
    }

    private func zombie() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        var generator = SeededGenerator(seed: seed)
        do {
            try play(&generator)
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
    }

    private func play(_ generator: inout SeededGenerator) throws {
        let objects = MemoryObjects()
        let first = Host(try Member("a", objects))
        try first.member.begin()
        try first.member.writeBase()
        var hosts = [first]
        for name in ["b", "c"] { hosts.append(Host(try Member(name, seededFrom: objects))) }
        for host in hosts {
            var own = SeededGenerator(seed: generator.next())
            // One request in eight is cut: before it was done, or behind that.
            host.member.bucket.cut = { _ in
                switch own.below(16) {
                case 0: .before
                case 1: .after
                default: .none
                }
            }
        }
        var leaders = [first]
        for _ in 0..<generator.below(60) + 20 {
            let leader = leaders[generator.below(leaders.count)]
            switch generator.below(10) {
            case 0..<5: if !leader.isDeposed { try leader.publish() }
            case 5..<9: try leader.ship()
            default:
                // Another host takes over, while the leaders before are anywhere.
                guard let next = hosts.first(where: { host in !leaders.contains { $0 === host } })
                else { break }
                do {
                    if case .leads = try next.member.takeOver() { leaders.append(next) }
                } catch {
                    try ignoringCuts(error)
                }
            }
        }
        for host in hosts { host.member.bucket.cut = { _ in .none } }
        for host in leaders { for _ in 0..<4 { try host.ship(appendsEmpty: true) } }
        // Of all who led, one leads.
        let ruling = leaders.filter { !$0.isDeposed }
        #expect(ruling.count <= 1, "\(ruling.count) lead")
        let reader = Host(try Member("reader", seededFrom: objects))
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
    }

    private func ignoringCuts(_ error: any Error) throws {
        guard case .bucket = error as? ReplicationError else { throw error }
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
