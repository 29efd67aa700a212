import BlobStore
import TestSupport
import Testing

@testable import Replication

/// Signs of life, which are no part of the log.
@Suite struct AliveTests {
    private let objects = MemoryObjects()

    private func leader() throws -> ReplicaUnderTest { try .leader(objects) }

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
        a.bucket.onRequest = { (operation, name) throws(ReplicationError) in
            guard operation == .create, name.hasPrefix(ShardNames.logPrefix) else { return }
            throw .bucket("503")
        }
        try a.store.put("n", [1])
        for _ in 0..<40 {
            a.uptime += 1_000
            try a.step()
        }
        let name = ShardNames.alive(a.store.replicationState!.epoch)
        let last = objects[name]
        a.uptime += 6_000
        try a.beat()
        #expect(objects[name] == last)
        a.bucket.onRequest = { _, _ in }
        a.uptime += 6_000
        try a.step()
        a.uptime += 6_000
        try a.beat()
        #expect(objects[name] != last)
    }

    @Test("Nobody says that it is alive after the end of its lead")
    func afterLead() throws {
        let a = try leader()
        let name = ShardNames.alive(a.store.replicationState!.epoch)
        var alive = AliveWriter(a.store, a.host)
        for activity in [a.activity, .follows] {
            a.host.become(activity)
            objects[name] = nil
            _ = try alive.step(on: a.bucket)
            #expect((objects[name] != nil) == (activity != .follows))
        }
    }

    // Its other thread said for ever that it is alive: it had not failed.
    @Test("A leader whose shipping stands still is silent soon, also where beats fail")
    func hung() throws {
        let a = try leader()
        let name = ShardNames.alive(a.store.replicationState!.epoch)
        let begun = a.uptime
        var failureCount = 0
        var last = objects[name]
        var saidAt = begun
        for number in 0..<120 {
            a.uptime += 1_000
            // Now and then one does not get there.
            a.bucket.cut = { _ in (20..<27).contains(number % 30) ? .before : .none }
            do { try a.beat() } catch { failureCount += 1 }
            if objects[name] != last { (last, saidAt) = (objects[name], a.uptime) }
        }
        #expect(failureCount > 0)
        #expect(saidAt - begun >= 20_000 && saidAt - begun < 90_000)
    }

    // It was silent after an outage while its first upload took long.
    @Test("A leader is alive while an upload goes on well, not while it is begun again and again")
    func slowUpload() throws {
        let a = try leader()
        let name = ShardNames.alive(a.store.replicationState!.epoch)
        // Away for all.
        a.bucket.cut = { _ in .before }
        try a.store.put("n", [1])
        for _ in 0..<60 {
            a.uptime += 1_000
            try? a.step()
        }
        let other = MemoryBucket(objects)
        func isSaid() throws -> Bool {
            let last = objects[name]
            a.uptime += 6_000
            try a.beat(on: other)
            return objects[name] != last
        }
        for _ in 0..<30 {
            for _ in 0..<10 { a.progress.noteMoved(16 << 10) }
            #expect(try isSaid())
        }
        // It fails at its end, and does so each time.
        var saidCount = 0
        for _ in 0..<30 {
            try? a.step()
            for _ in 0..<10 { a.progress.noteMoved(16 << 10) }
            saidCount += try isSaid() ? 1 : 0
        }
        #expect(saidCount < 10)
    }

    @Test("A sign of life may take longer where all of them do, and no longer than needed")
    func timeout() {
        var settings = ReplicaSettings()
        var timeout = BeatTimeout(settings)
        #expect(timeout.milliseconds == 3_000)
        timeout.noteFailure(after: 10)
        #expect(timeout.milliseconds == 3_000)
        timeout.noteFailure(after: 3_001)
        #expect(timeout.milliseconds == 6_000)
        timeout.noteSuccess(after: 4_800)
        #expect(timeout.milliseconds == 6_000)
        timeout.noteSuccess(after: 100)
        #expect(timeout.milliseconds == 3_000)
        for _ in 0..<5 { timeout.noteFailure(after: timeout.milliseconds) }
        #expect(timeout.milliseconds == ReplicationLimits.beatTimeoutMillisecondsMax)
        settings.autoPromoteMilliseconds = 30_000
        #expect(BeatTimeout(settings).milliseconds == 10_000)
    }

    @Test("Silence is what lies between looks, not what they take, and not a gap between them")
    func silence() {
        var silence = Silence()
        func look(_ begun: Int64, _ end: Int64) {
            let isNew = silence.note(nil, begunAt: begun, at: end)
            #expect(!isNew)
        }
        look(0, 4_800)
        look(5_800, 10_600)
        #expect(silence.milliseconds == 1_000)
        look(25_600, 30_000)
        #expect(silence.milliseconds == 1_000)
        // All of them are so far apart.
        look(44_000, 48_000)
        #expect(silence.milliseconds == 15_000)
        silence.interrupt()
        look(49_000, 50_000)
        #expect(silence.milliseconds == 15_000)
    }

    @Test("A leader that says that it is alive just before it would be deposed is not")
    func lastLook() throws {
        let a = try leader()
        let b = try follower(autoPromoteMilliseconds: 10_000)
        try run([a, b], milliseconds: 12_000)
        let other = MemoryBucket(objects)
        var (lastLook, lookCount): (Int64, Int) = (-1_000, 0)
        b.bucket.onRequest = { [unowned b] (_, name) in
            guard name.hasPrefix(ShardNames.alivePrefix) else { return }
            defer { lastLook = b.uptime }
            guard b.uptime == lastLook else { return }
            lookCount += 1
            a.uptime = b.uptime
            do { try a.beat(on: other) } catch { Issue.record(error) }
        }
        // Before it is one that stands still.
        let end = b.uptime + 20_000
        while b.uptime < end { try b.step() }
        #expect(lookCount > 0)
        #expect(b.activity == .follows)
    }

    // It was silence never: nobody took the lead from a leader that was gone.
    @Test("A damaged sign of life is none, and one that is written again is")
    func damagedSign() throws {
        let a = try leader()
        let b = try follower(autoPromoteMilliseconds: 10_000)
        try run([a, b], milliseconds: 12_000)
        let name = ShardNames.alive(try #require(a.store.replicationState).epoch)
        for _ in 0..<6 {
            objects[name]?[20] ^= 1
            try run([a, b], milliseconds: 9_000)
            #expect(b.activity == .follows)
        }
        a.kill()
        objects[name]?[20] ^= 1
        let died = b.uptime
        try b.run { b.isLeading }
        #expect(b.uptime - died >= 5_000 && b.uptime - died <= 16_000)
    }

    // What the looks took, on both sides, was counted as silence.
    @Test("A leader is not deposed where each request of both takes long, and one that is gone is")
    func slowRequests() throws {
        let a = try leader()
        let b = try follower(autoPromoteMilliseconds: 10_000)
        for host in [a, b] {
            host.bucket.onRequest = { [unowned host] _, _ in host.uptime += 4_800 }
        }
        try run([a, b], milliseconds: 600_000)
        #expect(a.isLeading && b.activity == .follows)
        a.kill()
        let died = b.uptime
        try b.run { b.isLeading }
        #expect(b.uptime - died <= 240_000)
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
        #expect(a.activity == .changes)
        b.uptime += 6_000
        try b.beat()
        try run([a], milliseconds: 2_000)
        #expect(a.activity == .follows)
    }

    // It fenced its own epoch while the other one still applied what was before its fence.
    @Test("A deposed leader does not take the lead back from one that applies the log for long")
    func longApplying() throws {
        let a = try leader()
        let b = try follower()
        for number in 0..<400 {
            try a.store.put("n\(number)", [1])
            try a.run { a.store.shippedSequence == a.store.lastSequence }
        }
        b.uptime = a.uptime
        b.promotion = TestPromotion(isForced: true)
        // A minute of it: less than ten seconds for each round, between signs of life.
        b.bucket.onRequest = { [unowned b] (_, name) in
            if !name.hasPrefix(ShardNames.alivePrefix) { b.uptime += 150 }
        }
        for _ in 0..<2_000 where !b.isLeading {
            try b.step()
            try run([a], milliseconds: max(0, b.uptime - a.uptime))
        }
        #expect(b.isLeading)
        #expect(a.activity == .changes, "it waits for that")
        #expect(try b.store.get("n399") == [1])
        try run([a, b], milliseconds: 10_000)
        #expect(a.activity == .follows && b.isLeading)
    }
}
