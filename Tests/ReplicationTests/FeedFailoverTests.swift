import BlobStore
import Replication
import TestSupport
import Testing

/// Devices that read feeds from any host of a shard while its leaders come and go.
@Suite struct FeedFailoverTests {
    /// A device of an owner: what it was told, and where it goes on.
    private struct Device {
        let owner: String
        var cursor: [UInt8]?
        var replica: [String: UInt64] = [:]
        var resyncCount = 0

        /// Reads all that a host has. What it has not got yet is no reason to begin anew.
        mutating func read(from member: Member, isFollower: Bool) throws {
            let bytes = Array(owner.utf8)
            while true {
                var start = FeedStart.beginning
                if let text = cursor {
                    let found: FeedCursor?
                    do throws(StoreError) {
                        found = try member.store.feedCursor(
                            text.span.bytes, owner: bytes.span.bytes)
                    } catch {
                        try beginAnew(error)
                        continue
                    }
                    guard let found else { throw TestFailure("a cursor of this shard is none") }
                    let revision = try member.store.withSnapshot { (snapshot) throws(StoreError) in
                        try snapshot.lastRevision()
                    }
                    if isFollower, found.position > revision { return }
                    start = .after(found)
                } else {
                    replica = [:]
                }
                let from = start
                let page: FeedPage
                do throws(StoreError) {
                    page = try member.store.withSnapshot { (snapshot) throws(StoreError) in
                        try snapshot.changes(of: bytes.span.bytes, from: from, limit: 7)
                    }
                } catch {
                    try beginAnew(error)
                    continue
                }
                for change in page.changes {
                    replica[change.id] = change.record == nil ? nil : change.revision
                }
                var text: [UInt8] = []
                page.next.append(owner: bytes.span.bytes, store: member.store.id, to: &text)
                cursor = text
                if !page.hasMore { return }
            }
        }

        private mutating func beginAnew(_ error: StoreError) throws {
            guard case .resync = error else { throw error }
            cursor = nil
            resyncCount += 1
        }
    }

    @Test("No device misses a change without being told to begin anew", arguments: 0..<3)
    func failovers(number: Int) throws {
        let seed = testSeed(UInt64(40 + number))
        do {
            let count = LongRuns.count("FAILOVERS", usually: 12)
            let figures = try play(seed: seed, failoverCount: count)
            print("feed failovers: seed \(seed), \(figures)")
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
    }

    private func play(seed: UInt64, failoverCount: Int) throws -> String {
        var generator = SeededGenerator(seed: seed)
        let objects = MemoryObjects()
        var leader = try Member("0", objects)
        try leader.begin()
        try leader.writeBase()
        var follower = try Member("1", seededFrom: objects)
        var devices = (0..<12).map { Device(owner: "owner-\($0 % 4)") }
        var lostCount = 0
        for round in 0..<failoverCount {
            for _ in 0..<20 + generator.below(30) {
                try change(leader.store, &generator)
                if generator.chance(30) { try leader.ship() }
                if generator.chance(30) { try follower.follow() }
                let index = generator.below(devices.count)
                let isFollower = generator.chance(50)
                try devices[index].read(
                    from: isFollower ? follower : leader, isFollower: isFollower)
            }
            // The leader dies; what it did not ship is lost.
            lostCount += Int(leader.store.lastSequence - leader.store.shippedSequence)
            guard case .leads = try follower.takeOver() else {
                throw TestFailure("the follower does not lead")
            }
            leader = follower
            if generator.chance(50) { try leader.writeBase(all: false) }
            try leader.ship()
            follower = try Member("\(round + 2)", seededFrom: objects)
            try follower.follow()
        }
        try leader.ship()
        try follower.follow()
        for index in devices.indices {
            let isFollower = index.isMultiple(of: 2)
            try devices[index].read(from: isFollower ? follower : leader, isFollower: isFollower)
            let truth = try live(devices[index].owner, in: leader.store)
            guard devices[index].replica == truth else {
                throw TestFailure(
                    "device \(index) has \(devices[index].replica.sorted { $0.key < $1.key }), and should have \(truth.sorted { $0.key < $1.key })"
                )
            }
        }
        let resyncs = devices.reduce(0) { $0 + $1.resyncCount }
        return "\(failoverCount) failovers, \(lostCount) batches lost, \(resyncs) resyncs"
    }

    private func change(_ store: BlobStore, _ generator: inout SeededGenerator) throws {
        let owner = generator.below(4)
        let id = "n-\(owner)-\(generator.below(8))"
        guard generator.chance(70) else {
            try store.delete(id, asOf: noon)
            return
        }
        var writer = store.makePayloadWriter()
        try writer.append(generator.bytes(10).span.bytes)
        var publication = Publication(
            id: id, payload: try writer.finish(mediaType: "text/plain"),
            expiry: .at(noon.adding(seconds: 60)))
        publication.owner = "owner-\(owner)"
        try store.publish(publication, asOf: noon)
    }

    /// An owner's notifications, with the revisions of their last changes.
    private func live(_ owner: String, in store: BlobStore) throws -> [String: UInt64] {
        var found: [String: UInt64] = [:]
        for index in 0..<4 {
            for number in 0..<8 {
                let id = "n-\(index)-\(number)"
                guard let record = try store.record(for: id, asOf: noon), record.owner == owner
                else { continue }
                found[id] = record.revision
            }
        }
        return found
    }
}
