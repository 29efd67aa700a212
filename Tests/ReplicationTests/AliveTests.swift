import BlobStore
import TestSupport
import Testing

@testable import Replication

/// Signs of life, which are no part of the log.
@Suite struct AliveTests {
    private let objects = MemoryObjects()

    private func leader() throws -> ReplicaUnderTest {
        let host = ReplicaUnderTest("a", objects)
        try host.start()
        try host.lead()
        try host.writeBase()
        return host
    }

    private func follower(autoPromoteMilliseconds: Int? = nil) throws -> ReplicaUnderTest {
        let host = ReplicaUnderTest("b", objects, mayBegin: false)
        host.settings.autoPromoteMilliseconds = autoPromoteMilliseconds
        try host.start()
        return host
    }

    /// Both hosts, by one clock.
    private func run(_ hosts: [ReplicaUnderTest], milliseconds: Int64) throws {
        let end = hosts.map(\.uptime).max()! + milliseconds
        while let next = hosts.min(by: { $0.uptime < $1.uptime }), next.uptime < end {
            guard hosts.allSatisfy({ $0.restartReason == nil }) else { return }
            let before = next.uptime
            do { try next.step() } catch is ReplicationError { next.uptime += 1_000 }
            // Work takes some time.
            next.uptime = max(next.uptime, before + 1)
        }
    }

    // The second of two outages of 13 s deposed a leader whose follower had auto-promote=10s: its changes of the outage
    // were set aside.
    @Test("A bucket that is away for both hosts deposes nobody, however often")
    func outages() throws {
        let a = try leader()
        let b = try follower(autoPromoteMilliseconds: 10_000)
        try run([a, b], milliseconds: 12_000)
        for round in 0..<20 {
            for host in [a, b] { host.bucket.cut = { _ in .before } }
            try a.store.put("n\(round)", [1])
            try run([a, b], milliseconds: 8_000 + 1_000 * Int64(round))
            for host in [a, b] { host.bucket.cut = { _ in .none } }
            try run([a, b], milliseconds: 1_000 * Int64(round))
            #expect(a.isLeading && !b.isLeading, "round \(round)")
        }
        #expect(a.restartReason == nil)
        #expect(b.activity == .follows)
        #expect(try b.store.get("n19") == [1])
    }

    // Signs of life waited behind uploads.
    @Test("A leader that uploads one payload for long is not deposed")
    func longUpload() throws {
        let a = try leader()
        let b = try follower(autoPromoteMilliseconds: 10_000)
        try run([a, b], milliseconds: 12_000)
        for round in 0..<20 {
            try a.store.put("n\(round)", [UInt8](repeating: UInt8(round), count: 100_000))
            // What the other threads do meanwhile.
            let upload = MemoryBucket(objects)
            a.bucket.onRequest = { [unowned a] (operation, name) throws(ReplicationError) in
                guard name.hasPrefix(ShardNames.blobPrefix), operation == .put else { return }
                a.bucket.onRequest = { _, _ in }
                do {
                    for _ in 0..<30 {
                        a.uptime += 1_000
                        try a.beat(on: upload)
                        while b.uptime < a.uptime { try b.step() }
                    }
                } catch { Issue.record(error) }
            }
            try run([a, b], milliseconds: 5_000)
            #expect(a.isLeading && b.activity == .follows, "round \(round)")
        }
        a.bucket.onRequest = { _, _ in }
        try run([a, b], milliseconds: 5_000)
        #expect(b.store.lastSequence == a.store.lastSequence)
    }

    @Test("A leader that is gone is replaced in time", arguments: 0..<20)
    func gone(_ number: Int) throws {
        let a = try leader()
        let b = try follower(autoPromoteMilliseconds: 10_000)
        try run([a, b], milliseconds: 12_000 + 317 * Int64(number))
        try a.store.put("last", [1])
        a.kill()
        let died = b.uptime
        try b.run { b.isLeading }
        #expect(b.uptime - died >= 5_000 && b.uptime - died <= 15_000)
    }

    @Test("One that reaches the bucket and can ship nothing is none after half a minute")
    func failing() throws {
        let a = try leader()
        a.isFailing = true
        for _ in 0..<40 {
            a.uptime += 1_000
            try a.beat()
        }
        let name = ShardNames.alive(a.store.replicationState!.epoch)
        let last = objects[name]
        a.uptime += 6_000
        try a.beat()
        #expect(objects[name] == last)
        a.isFailing = false
        a.uptime += 6_000
        try a.beat()
        #expect(objects[name] != last)
    }

    // It found out with its next segment alone, or with a sign of life.
    @Test("The log of an idle shard does not grow, and its leader finds a fence")
    func idle() throws {
        let a = try leader()
        let b = try follower()
        try run([a, b], milliseconds: 30_000)
        let names = objects.names.filter { $0.hasPrefix(ShardNames.logPrefix) }
        try run([a, b], milliseconds: 120_000)
        #expect(objects.names.filter { $0.hasPrefix(ShardNames.logPrefix) } == names)
        b.promotion = TestPromotion(isForced: true)
        try b.run { b.isLeading }
        try run([a], milliseconds: 6_000)
        #expect(a.activity == .follows)
    }

    // It fenced its own epoch while the other one still applied what was before its fence.
    @Test("A deposed leader does not take the lead back from one that applies the log for long")
    func longApplying() throws {
        let a = try leader()
        let b = try follower()
        for number in 0..<200 {
            try a.store.put("n\(number)", [1])
            try a.run { a.store.shippedSequence == a.store.lastSequence }
        }
        b.uptime = a.uptime
        b.promotion = TestPromotion(isForced: true)
        // Two minutes of it, half a second for each request.
        b.bucket.onRequest = { [unowned b] (_, name) in
            if !name.hasPrefix(ShardNames.alivePrefix) { b.uptime += 500 }
        }
        for _ in 0..<2_000 where !b.isLeading {
            try b.step()
            try run([a], milliseconds: max(0, b.uptime - a.uptime))
        }
        #expect(b.isLeading)
        #expect(a.activity == .follows)
        #expect(try b.store.get("n199") == [1])
    }
}
