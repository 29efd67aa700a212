import BlobStore
import TestSupport
import Testing

@testable import Replication

/// Fences whose hosts do not lead, or not yet: what the leader before does, and what they do.
@Suite struct ForeignFenceTests {
    private let objects = MemoryObjects()

    private func leader() throws -> ReplicaUnderTest {
        let host = ReplicaUnderTest("a", objects)
        try host.start()
        try host.lead()
        return host
    }

    /// Fences of other hosts under the next names. Returns the epoch of the last.
    private func fence(after a: ReplicaUnderTest, count: Int = 1) throws -> UInt64 {
        let state = try #require(a.store.replicationState)
        var (position, epoch) = (state.position, state.epoch)
        for _ in 0..<count {
            epoch += 1
            let fence = Segment(
                Segment.Head(
                    kind: .fence, storeID: a.store.id, epoch: epoch, nonce: .random(),
                    previous: position, sequence: state.sequence, time: noon))
            position = fence.position
            objects[ShardNames.log(position.number)] = fence.bytes
        }
        return epoch
    }

    // A promotion with --force that died before it led deposed the leader: it set its changes aside, was rebuilt as a
    // follower, and nobody led.
    @Test(
        "Fences that nobody leads by depose nobody, and lose nothing",
        arguments: [false, true], [1, 2])
    func abandonedFence(isKilled: Bool, count: Int) throws {
        let a = try leader()
        try a.ship()
        let epoch = try fence(after: a, count: count)
        try a.store.put("1", [1])
        if isKilled {
            a.kill()
            try a.start()
        }
        try a.run { a.activity == .changes }
        let since = a.uptime
        #expect(a.store.refusesChanges)
        // A bucket that is away is no reason to take changes that somebody else may have superseded.
        a.bucket.onRequest = { (_, _) throws(ReplicationError) in throw .bucket("away") }
        for _ in 0..<3 {
            #expect(throws: ReplicationError.self) { try a.step() }
            #expect(a.store.refusesChanges)
        }
        a.bucket.onRequest = { _, _ in }
        try a.run { a.isLeading }
        #expect(a.store.replicationState?.epoch == epoch + 1)
        let waited = a.uptime - since
        #expect(abs(waited - ReplicationLimits.leaderlessMilliseconds) <= 1_000)
        try a.ship()
        #expect(try a.store.get("1") == [1])
        let b = try a.follower("b")
        try b.run { b.store.lastSequence == a.store.lastSequence }
        #expect(try b.store.get("1") == [1])
        #expect(!a.folder.names.contains { $0.hasPrefix("unreplicated") })
    }

    // It took changes, without even the gap that keeps copies of a store apart.
    @Test("A start that finds a fence, and not what its host says, takes no changes")
    func unknownAtStart() throws {
        let a = try leader()
        try a.ship()
        _ = try fence(after: a)
        a.kill()
        try a.start()
        a.bucket.onRequest = { (_, name) throws(ReplicationError) in
            if name.hasPrefix(ShardNames.alivePrefix) { throw .bucket("away") }
        }
        #expect(throws: ReplicationError.self) { try a.step() }
        #expect(a.store.refusesChanges && a.activity == .changes)
        a.bucket.onRequest = { _, _ in }
        try a.run { a.isLeading }
    }

    // It led for ever, or until its disk had room: it never looked at the log again.
    @Test("A leader that cannot lead after its fence follows who has put another one behind it")
    func fullLeader() throws {
        let a = try leader()
        let b = try a.follower("b")
        a.kill()
        try a.start()
        let fence = ShardNames.log(try #require(a.store.replicationState).position.number + 1)
        a.host.onWrite = { [objects] () throws(StoreError) in
            if objects[fence] != nil { throw .full }
        }
        pass([a], milliseconds: 2_000) { objects[fence] != nil }
        b.promotion = TestPromotion(isForced: true)
        try b.run { b.isLeading }
        a.host.onWrite = {}
        try ReplicaUnderTest.run([a, b]) { a.activity == .follows }
        #expect(b.isLeading)
    }

    @Test(
        "A fence whose host says that it leads deposes at once, and one that comes late when it comes",
        arguments: [false, true])
    func fenceOfALeader(isLate: Bool) throws {
        let a = try leader()
        try a.writeBase()
        try a.ship()
        let epoch = try fence(after: a)
        try a.store.put("1", [1])
        let document = AliveDocument(
            storeID: a.store.id.description, epoch: epoch, host: "b", since: noon, counter: 1,
            segment: try #require(a.store.replicationState).position.number + 1, time: noon)
        if isLate { try a.run { a.activity == .changes } }
        let since = a.uptime
        objects[ShardNames.alive(epoch)] = document.bytes
        try a.run { a.lines.contains { $0.contains("b has led since epoch \(epoch)") } }
        #expect(a.uptime - since < 7_000)
        #expect(a.folder.names.contains { $0.hasPrefix("unreplicated") })
    }

    /// Steps both as time passes, in steps that may fail.
    private func pass(
        _ hosts: [ReplicaUnderTest], milliseconds: Int64, until isDone: () -> Bool = { false }
    ) {
        for _ in 0..<milliseconds / 250 where !isDone() {
            for host in hosts {
                let begun = host.uptime
                try? host.stepOrRestart()
                host.uptime = max(host.uptime, begun) == begun ? begun + 250 : host.uptime
            }
        }
    }

    // Each attempt put another fence, so that the leader began to wait anew each time: nobody led while the disk was full.
    @Test("A host that cannot lead after its fence puts no other one, and the leader leads again")
    func fullDisk() throws {
        let a = try leader()
        try a.ship()
        let b = try a.follower("b")
        let promotion = TestPromotion(isForced: true)
        b.promotion = promotion
        let fence = try #require(a.store.replicationState).position.number + 1
        b.host.onWrite = { [objects] () throws(StoreError) in
            // The fence is there: the store is about to lead.
            if objects[ShardNames.log(fence)] != nil { throw .full }
        }
        try a.store.put("local", [1])
        let begun = a.uptime
        pass([b, a], milliseconds: 60_000) { a.isLeading && promotion.answer != nil }
        #expect(a.isLeading && a.uptime - begun < 45_000)
        guard case .refused(let why) = promotion.answer else {
            throw TestFailure("\(String(describing: promotion.answer))")
        }
        #expect(why.contains("cannot apply") || why.contains("took the lead"), "\(why)")
        try a.ship()
        let kinds = try (fence...fence + 1).map {
            try Segment(try #require(objects[ShardNames.log($0)])).head
        }
        #expect(kinds.allSatisfy { $0.kind == .fence } && kinds[0].nonce != kinds[1].nonce)
        b.host.onWrite = {}
        try ReplicaUnderTest.run([a, b]) { b.store.lastSequence == a.store.lastSequence }
        #expect(a.isLeading && b.activity == .follows)
        #expect(try b.store.get("local") == [1])
    }

    // It waited for ever, and put its fence when the bucket took it again: over that of another host.
    @Test("A promotion is refused where the bucket takes no fence")
    func refusedFence() throws {
        let a = try leader()
        let b = try a.follower("b")
        let promotion = TestPromotion(isForced: true)
        b.promotion = promotion
        b.bucket.onRequest = { (operation, name) throws(ReplicationError) in
            guard operation == .create, name.hasPrefix(ShardNames.logPrefix) else { return }
            throw .bucket("403 AccessDenied", isLasting: true)
        }
        pass([b], milliseconds: 2_000) { promotion.answer != nil }
        guard case .refused(let why) = promotion.answer else { throw TestFailure("no answer") }
        #expect(why.contains("403"), "\(why)")
        b.bucket.onRequest = { _, _ in }
        try a.store.put("1", [1])
        try ReplicaUnderTest.run([a, b]) { b.store.lastSequence == a.store.lastSequence }
        #expect(a.isLeading && b.activity == .follows)
    }

    enum Late: CaseIterable { case never, comes, comesToNobody, afterAnother }

    // It was tried for ever: whoever asked heard nothing, and a host that was promoted in its stead was deposed.
    @Test(
        "A promotion whose fence gets no answer ends in time, and its host follows",
        arguments: Late.allCases)
    func unknownFence(_ late: Late) throws {
        let a = try leader()
        let (b, c) = (try a.follower("b"), try a.follower("c"))
        let promotion = TestPromotion(isForced: true)
        b.promotion = promotion
        b.bucket.onRequest = { (operation, name) throws(ReplicationError) in
            if operation == .create { throw .bucket("no answer within 5 s") }
        }
        let begun = b.uptime
        pass([b], milliseconds: 30_000) { promotion.answer != nil }
        guard case .refused(let why) = promotion.answer else { throw TestFailure("no answer") }
        #expect(why.contains("did not confirm") && why.contains("no answer within 5 s"), "\(why)")
        #expect(b.uptime - begun <= Int64(ReplicationLimits.handoverMilliseconds) + 1_000)
        #expect(b.activity == .follows)
        let state = try #require(b.store.replicationState)
        let fence = Segment(
            Segment.Head(
                kind: .fence, storeID: b.store.id, epoch: state.epoch + 1, nonce: state.nonce,
                previous: state.position, sequence: state.sequence, time: noon))
        switch late {
        case .never: break
        case .comes, .comesToNobody:
            objects[ShardNames.log(fence.head.number)] = fence.bytes
        case .afterAnother:
            c.promotion = TestPromotion(isForced: true)
            try c.run { c.isLeading }
        }
        b.bucket.onRequest = { _, _ in }
        let leaders = late == .comesToNobody ? [b] : late == .afterAnother ? [c] : [a, b]
        let all = late == .comesToNobody ? [b, c] : [a, b, c]
        pass(all, milliseconds: 60_000) { leaders.contains { $0.isLeading } && b.uptime > 40_000 }
        let leading = try #require(all.first { $0.isLeading })
        #expect(leaders.contains { $0 === leading } && all.count { $0.isLeading } == 1)
        if late == .never { #expect(leading === a) }
        try leading.store.put("after", [1])
        try ReplicaUnderTest.run(all) {
            all.allSatisfy { $0.store?.lastSequence == leading.store.lastSequence }
        }
        #expect(all.count { $0.isLeading } == 1)
    }

    @Test(
        "A promotion whose answer comes late deposes nobody who was promoted meanwhile",
        arguments: [false, true])
    func lateAnswer(isBehind: Bool) throws {
        let a = try leader()
        let (b, c) = (try a.follower("b"), try a.follower("c"))
        if isBehind {
            // Its fence is put first, after what it has not applied.
            try a.store.put("1", [1])
            try a.ship()
            try ReplicaUnderTest.run([a, c]) { c.store.lastSequence == a.store.lastSequence }
        }
        let promotion = TestPromotion(isForced: true)
        b.promotion = promotion
        var createCount = 0
        b.bucket.onRequest = { (operation, _) throws(ReplicationError) in
            if operation == .get, isBehind, createCount == 0 { b.uptime += 3_000 }
            guard operation == .create else { return }
            createCount += 1
            guard createCount == 1 else { return }
            // Who asked was told meanwhile that it failed.
            b.uptime += 15_000
            c.promotion = TestPromotion(isForced: true)
            try? c.run { c.isLeading }
            throw .bucket("no answer within 15 s")
        }
        pass([b], milliseconds: 30_000) { promotion.answer != nil }
        guard case .refused = promotion.answer else { throw TestFailure("no answer") }
        let epoch = try #require(c.store.replicationState?.epoch)
        b.bucket.onRequest = { _, _ in }
        pass([a, b, c], milliseconds: 30_000) { false }
        #expect(c.isLeading && c.store.replicationState?.epoch == epoch)
        #expect([a, b].allSatisfy { $0.activity == .follows })
    }

    // Nothing was before its fence that it could not apply when that was created: what came later held it up for ever.
    @Test(
        "A promotion whose fence gets no answer ends in time where what came meanwhile cannot be applied"
    )
    func unknownFenceAndDamage() throws {
        let a = try leader()
        let b = try a.follower("b")
        let promotion = TestPromotion(isForced: true)
        b.promotion = promotion
        b.bucket.onRequest = { (operation, name) throws(ReplicationError) in
            if operation == .create { throw .bucket("no answer within 5 s") }
        }
        #expect(throws: ReplicationError.self) { try b.step() }
        try a.store.put("1", [1])
        try a.ship()
        b.host.onWrite = { () throws(StoreError) in throw .corrupt("page 7") }
        pass([b], milliseconds: 30_000) { promotion.answer != nil }
        guard case .refused(let why) = promotion.answer else { throw TestFailure("no answer") }
        #expect(why.contains("did not confirm") && why.contains("page 7"), "\(why)")
        b.host.onWrite = {}
        b.bucket.onRequest = { _, _ in }
        try ReplicaUnderTest.run([a, b]) { b.store.lastSequence == a.store.lastSequence }
        #expect(a.isLeading && b.activity == .follows)
    }

    @Test("A leader that waits at a foreign fence leads at once where it is told so by force")
    func forcedLeader() throws {
        let a = try leader()
        try a.ship()
        let epoch = try fence(after: a)
        try a.store.put("1", [1])
        try a.run { a.activity == .changes }
        let planned = TestPromotion()
        a.promotion = planned
        try a.step()
        guard case .refused = planned.answer else { throw TestFailure("no answer") }
        let (since, forced) = (a.uptime, TestPromotion(isForced: true))
        a.promotion = forced
        // What that host says of itself has to be known.
        a.bucket.onRequest = { (_, name) throws(ReplicationError) in
            if name.hasPrefix(ShardNames.alivePrefix) { throw .bucket("away") }
        }
        #expect(throws: ReplicationError.self) { try a.step() }
        guard case .refused = forced.answer else { throw TestFailure("no answer") }
        a.bucket.onRequest = { _, _ in }
        let again = TestPromotion(isForced: true)
        a.promotion = again
        try a.step()
        #expect(a.isLeading && a.uptime - since < 1_000)
        #expect(again.answer == .leads(epoch + 1))
        try a.ship()
        #expect(try a.store.get("1") == [1])
        // One that leads is not told so again.
        a.promotion = TestPromotion(isForced: true)
        try a.step()
        #expect(a.store.replicationState?.epoch == epoch + 1)
    }

    @Test(
        "A leader that is told by force to lead, and whose fence gets no answer, says so, and leads when it knows",
        arguments: [false, true])
    func forcedLeaderWithoutAnswer(arrives: Bool) throws {
        let a = try leader()
        try a.ship()
        let epoch = try fence(after: a)
        try a.store.put("1", [1])
        try a.run { a.activity == .changes }
        let forced = TestPromotion(isForced: true)
        a.promotion = forced
        a.bucket.onRequest = { [unowned a] (operation, _) throws(ReplicationError) in
            guard operation == .create else { return }
            a.bucket.cut = { _ in arrives ? .after : .before }
        }
        #expect(throws: ReplicationError.self) { try a.step() }
        guard case .refused(let why) = forced.answer else { throw TestFailure("no answer") }
        #expect(why.contains("cannot take the lead yet"), "\(why)")
        #expect(!a.isLeading && a.store.refusesChanges)
        let fence = try #require(a.store.replicationState).position.number + 2
        #expect((objects[ShardNames.log(fence)] != nil) == arrives)
        a.bucket.onRequest = { _, _ in }
        a.bucket.cut = { _ in .none }
        try a.run { a.isLeading }
        // Behind its own fence, where that arrived, it puts another one.
        #expect(a.store.replicationState?.epoch == (arrives ? epoch + 2 : epoch + 1))
        try a.ship()
        #expect(try a.store.get("1") == [1])
    }

    @Test("A leader that is told by force to lead follows the host of a fence that leads")
    func forcedTooLate() throws {
        let a = try leader()
        try a.ship()
        let epoch = try fence(after: a)
        try a.run { a.activity == .changes }
        let document = AliveDocument(
            storeID: a.store.id.description, epoch: epoch, host: "b", since: noon, counter: 1,
            segment: try #require(a.store.replicationState).position.number + 1, time: noon)
        objects[ShardNames.alive(epoch)] = document.bytes
        let forced = TestPromotion(isForced: true)
        a.promotion = forced
        try a.step()
        #expect(forced.answer == .refused("b has led since epoch \(epoch)"))
        #expect(!a.isLeading)
    }

    // It led beside the leader that had given it up.
    @Test("A host that is silent while it applies what is before its fence follows the next leader")
    func superseded() throws {
        let a = try leader()
        let b = try a.follower("b")
        for number in 0..<100 {
            try a.store.put("n\(number)", [1])
            try a.ship()
        }
        let promotion = TestPromotion(isForced: true)
        b.promotion = promotion
        b.bucket.onRequest = { [unowned b] (operation, name) throws(ReplicationError) in
            if operation == .put, name.hasPrefix(ShardNames.alivePrefix) { throw .bucket("away") }
            b.uptime += 200
        }
        try b.step()
        #expect(b.isChanging)
        try a.run { a.isLeading && a.activity == .ships(epoch: 4) }
        b.bucket.onRequest = { _, _ in }
        var hasLed = false
        pass([b, a], milliseconds: 60_000) {
            hasLed = hasLed || b.isLeading
            return b.activity == .follows && b.store.lastSequence == a.store.shippedSequence
        }
        #expect(!hasLed && a.isLeading && b.store.lastSequence == a.store.shippedSequence)
        guard case .refused = promotion.answer else { throw TestFailure("no answer") }
    }

    // It had ended its lead, and saw the fence of a host that then was gone for good: nobody led.
    @Test("A leader that handed over to a host that dies before it leads takes the lead again")
    func successorDies() throws {
        let a = try leader()
        let b = try a.follower("b")
        b.promotion = TestPromotion()
        // Behind its end.
        let fence = ShardNames.log(try #require(a.store.replicationState).position.number + 2)
        b.host.onWrite = { [objects] () throws(StoreError) in
            if objects[fence] != nil { throw .full }
        }
        pass([a, b], milliseconds: 60_000) { objects[fence] != nil }
        #expect(a.activity == .follows && objects[fence] != nil)
        b.kill()
        let begun = a.uptime
        try a.run { a.isLeading }
        #expect(a.uptime - begun < 30_000)
    }
}
