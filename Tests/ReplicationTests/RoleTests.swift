import BlobStore
import TestSupport
import Testing

@testable import Replication

/// Who leads, found out by whole hosts: their starts, their take-overs, and what interrupts both.
@Suite("Roles")
struct RoleTests {
    private let objects = MemoryObjects()

    private func leader(_ name: String = "a") throws -> ReplicaUnderTest {
        let host = ReplicaUnderTest(name, objects)
        try host.start()
        try host.lead()
        return host
    }

    /// A leader, and a follower that asks for the lead.
    private func askedLeader() throws -> (ReplicaUnderTest, ReplicaUnderTest, TestPromotion) {
        let a = try leader()
        let (b, promotion) = (try a.follower("b"), TestPromotion())
        b.promotion = promotion
        return (a, b, promotion)
    }

    // Each take-over noted a new nonce and forgot the last one. After two interruptions a leader found its
    // own fence in the log and deposed itself.
    @Test(
        "A leader that is interrupted at each request of its starts knows all that it wrote",
        arguments: 0..<2)
    func ownNonces(_ kind: Int) throws {
        let a = try leader()
        try a.store.put("1", [1])
        for index in 0..<40 {
            a.kill()
            let first = a.bucket.requestCount
            // Each start is cut one request later, before or after its effect.
            a.bucket.cut = { $0 == first + index / 2 ? (kind == 0 ? .before : .after) : .none }
            try? a.start()
            guard a.store != nil else { continue }
            for _ in 0..<30 where a.bucket.requestCount <= first + index / 2 { try? a.step() }
        }
        a.bucket.cut = { _ in .none }
        a.kill()
        try a.start()
        try a.lead()
        #expect(!a.lines.contains { $0.contains("is no longer the leader") })
        #expect(try a.store.get("1") == [1])
    }

    // A leader's folder was copied, the leader acknowledged one more change, and the copy was put back: it took
    // the other run's segment for its own, led without that change, and shipped a different one under its number.
    @Test("A folder that was rolled back finds that it forked, saves its own changes and follows")
    func rolledBack() throws {
        let a = try leader()
        try a.store.put("old", [0])
        try a.ship()
        try a.writeBase()
        let copy = try a.copied()
        try a.store.put("A0", [1])
        try a.ship()
        a.kill()
        try copy.start()
        // The bucket does not answer at first, and the change is acknowledged locally.
        copy.bucket.cut = { _ in .before }
        try? copy.step()
        #expect(copy.activity == .leads)
        try copy.store.put("B0", [2])
        copy.bucket.cut = { _ in .none }
        try copy.run { copy.lines.contains { $0.contains("another copy of this store") } }
        #expect(copy.failedWaiters.count == 1)
        let saved = copy.folder.names.filter { $0.hasPrefix("unreplicated-epoch-") }
        #expect(saved.count == 1)
        // Nobody else leads, so it does, with what the shard has.
        try copy.run { copy.isLeading }
        #expect(try copy.store.get("A0") == [1])
        #expect(try copy.store.get("B0") == nil)
        #expect(try copy.store.get("old") == [0])
    }

    // A host that was away for longer than the retention found that the log does not go back to what it has,
    // exited to be rebuilt, and led again at its next start, over and over.
    @Test("A leader whose log is gone saves its changes, is rebuilt and follows")
    func tooOld() throws {
        let a = try leader()
        try a.store.put("1", [1])
        try a.ship()
        let b = try a.follower("b")
        try a.store.put("lost", [9])
        a.kill()
        b.promotion = TestPromotion(isForced: true)
        try b.lead()
        try b.writeBase()
        let base = try #require(try BaseManifest.numbers(on: b.bucket).last)
        for number in 1...base { objects[ShardNames.log(number)] = nil }
        try a.start()
        for _ in 0..<20 where a.restartReason == nil { try a.step() }
        #expect(a.restartReason != nil)
        a.kill()
        try a.start()
        try a.run { a.activity == .follows && a.store.lastSequence == b.store.lastSequence }
        #expect(a.folder.names.contains { $0.hasPrefix("unreplicated-epoch-") })
        #expect(try a.store.get("lost") == nil)
        #expect(try a.store.get("1") == [1])
    }

    // Whoever asked was told that the log was gone, and not what to do.
    @Test(
        "A host that is to lead, and is after a segment that was collected, leads when it is rebuilt",
        arguments: [false, true])
    func voidFence(isForced: Bool) throws {
        let a = try leader()
        let b = try a.follower("b")
        let state = try #require(b.store.replicationState)
        try a.store.put("1", [1])
        try a.ship()
        try a.writeBase()
        let base = try #require(try BaseManifest.numbers(on: a.bucket).last)
        #expect(base == state.position.number + 1)
        a.kill()
        // Of one that slept while it took the lead.
        let fence = Segment(
            Segment.Head(
                kind: .fence, storeID: b.store.id, epoch: 9, nonce: .random(),
                previous: state.position, sequence: state.sequence, time: noon))
        objects[ShardNames.log(base)] = fence.bytes
        b.host.settings.autoPromoteMilliseconds = 15_000
        let promotion = TestPromotion(isForced: true)
        if isForced { b.promotion = promotion }
        for _ in 0..<10 where b.restartReason == nil { try? b.step() }
        #expect(b.restartReason?.contains("rebuilt") == true)
        if isForced {
            guard case .refused(let why)? = promotion.answer else { throw TestFailure("led") }
            #expect(why.hasPrefix("this host must be rebuilt from the bucket first"), "\(why)")
        }
        try b.run { b.isLeading }
        #expect(try b.store.get("1") == [1])
        #expect(try #require(b.store.replicationState).position.number > base)
    }

    @Test("Who asks while a segment is on its way is answered by the next one")
    func askedMeanwhile() throws {
        let a = try leader()
        a.bucket.onRequest = { [unowned a] operation, name in
            guard operation == .create, name.hasPrefix(ShardNames.logPrefix) else { return }
            a.awaitsSegment = true
        }
        try a.store.put("1", [1])
        try a.ship()
        a.bucket.onRequest = { _, _ in }
        #expect(a.awaitsSegment)
        try a.run { !a.awaitsSegment }
    }

    // It saved them again and again, each time to another folder.
    @Test("A leader that is deposed while its disk is full saves its changes once")
    func savedOnce() throws {
        let a = try leader()
        try a.store.put("1", [1])
        try a.ship()
        let b = try a.follower("b")
        try a.store.put("lost", [9])
        b.promotion = TestPromotion(isForced: true)
        try b.lead()
        func saved() -> [String] { a.folder.names.filter { $0.hasPrefix("unreplicated-epoch-") } }
        a.host.onWrite = { () throws(StoreError) in
            if a.activity == .changes, !saved().isEmpty { throw .full }
        }
        for _ in 0..<20 {
            #expect(throws: StoreError.self) {
                for _ in 0..<5 { try a.step() }
            }
        }
        #expect(saved().count == 1)
        #expect(a.activity == .changes)
        a.host.onWrite = {}
        try a.run { a.activity == .follows && a.store.lastSequence == b.store.lastSequence }
        #expect(saved().count == 1)
    }

    // The first fence was there, and the store did not know that it was its own: the prefix was refused
    // permanently.
    @Test("A start that is killed between the first fence and the lead begins again")
    func killedAtTheBeginning() throws {
        let a = ReplicaUnderTest("a", objects)
        let id = try BlobStore.open(at: a.folder.path, options: Member.options).id.description
        objects[ShardNames.store] = StoreDocument(storeID: id).bytes
        objects[ShardNames.log(1)] =
            Segment(
                Segment.Head(
                    kind: .fence, storeID: try #require(StoreID(id)), epoch: 1, nonce: .random(),
                    previous: .start, sequence: 0, time: noon)
            ).bytes
        try a.start()
        try a.lead()
    }

    // MARK: - Planned promotions

    @Test("A planned promotion hands over")
    func planned() throws {
        let (a, b, promotion) = try askedLeader()
        try ReplicaUnderTest.run([a, b]) { a.isChanging }
        let askedAt = a.uptime
        try ReplicaUnderTest.run([a, b]) { a.activity == .follows }
        #expect(a.uptime == askedAt, "nothing was shipped, and it waited")
        try ReplicaUnderTest.run([a, b]) { b.isLeading }
        #expect(promotion.answer == .leads(b.store.replicationState!.epoch))
        #expect(a.activity == .follows)
    }

    // The leader waited for a follower whose disk was full, and nobody led for twenty seconds.
    @Test("A follower that has not applied all changes does not ask for the lead")
    func stuck() throws {
        let (a, b, promotion) = try askedLeader()
        b.bucket.onRequest = { (operation, name) throws(ReplicationError) in
            if operation == .get, name.hasPrefix(ShardNames.logPrefix) {
                throw ReplicationError.bucket("away")
            }
        }
        while promotion.answer == nil {
            try? b.step()
            b.uptime += 1_000
        }
        guard case .refused(let why) = promotion.answer else { throw TestFailure("it leads") }
        #expect(why.contains("did not apply all changes"), "\(why)")
        #expect(b.bucket.counts[.create] == nil)
        try a.step()
        #expect(a.isLeading)
        // It asks when it has.
        b.bucket.onRequest = { _, _ in }
        let next = TestPromotion()
        b.promotion = next
        try ReplicaUnderTest.run([a, b]) { b.isLeading }
        #expect(next.answer == .leads(b.store.replicationState!.epoch))
    }

    // It read what came meanwhile, and applied nothing until it had all.
    @Test("A follower that reads as slowly as its leader ships applies what it has read")
    func readsSlowly() throws {
        let a = try leader()
        let b = try a.follower("b")
        let first = b.store.lastSequence
        for number in 0..<40 {
            try a.store.put("\(number)", [1])
            try a.ship()
        }
        b.bucket.onRequest = { [unowned b] _, _ throws(ReplicationError) in b.uptime += 200 }
        for _ in 0..<2 { try b.step() }
        #expect((first + 2...first + 8).contains(b.store.lastSequence), "\(b.store.lastSequence)")
    }

    // The follower gave up after ten seconds, the leader handed over after fourteen, and nobody led for twenty more.
    @Test("A request that was given up is not granted")
    func withdrawn() throws {
        let (a, b, promotion) = try askedLeader()
        try b.step()
        // The leader has something to ship, which takes longer than the follower waits.
        try a.store.put("1", [1])
        a.bucket.onRequest = { (operation, _) throws(ReplicationError) in
            if operation == .create { throw ReplicationError.bucket("late") }
        }
        a.uptime += 1_000
        try a.run { a.isChanging }
        try b.run { promotion.answer != nil }
        a.uptime += 11_000
        a.bucket.onRequest = { _, _ in }
        guard case .refused = promotion.answer else { throw TestFailure("\(promotion.answer!)") }
        try a.run { a.isLeading }
        #expect(a.lines.last?.contains("continues to lead") == true)
    }

    // The end of the epoch was on its way when the request was given up. The leader took changes again, then the end
    // arrived: it could not follow with changes of its own, and took none from then on.
    @Test("A leader whose end of the epoch may be in the bucket takes no more changes")
    func endOnItsWay() throws {
        let (a, b, promotion) = try askedLeader()
        try b.step()
        a.uptime += 1_000
        try a.run { a.isChanging }
        a.bucket.onRequest = { (operation, _) throws(ReplicationError) in
            if operation == .create { throw ReplicationError.bucket("403 AccessDenied") }
        }
        for _ in 0..<5 { try a.step() }
        try b.run { promotion.answer != nil }
        for _ in 0..<5 {
            a.uptime += 11_000
            try a.step()
            if a.isLeading { try a.store.put("late", [1]) }
        }
        a.bucket.onRequest = { _, _ in }
        try a.run { a.activity == .follows }
        try ReplicaUnderTest.run([a, b]) {
            a.isLeading && b.store.lastSequence == a.store.lastSequence
        }
    }

    // It had more than its shard then, and could not follow: it took no changes until it was started again.
    @Test(
        "What a leader's own threads change after the end of its epoch, or when it is deposed, is refused",
        arguments: [false, true])
    func changedAfterEnd(isForced: Bool) throws {
        let a = try leader()
        try a.store.put("long", SeededGenerator.bytes(100_000))
        try a.store.delete("long", asOf: noon)
        try a.ship()
        let (b, promotion) = (try a.follower("b"), TestPromotion(isForced: isForced))
        var errors: [StoreError] = []
        a.host.onWrite = { [unowned a] () throws(StoreError) in
            guard a.activity == .changes else { return }
            do throws(StoreError) { _ = try a.store.pruneRetired(upTo: .max, asOf: noon) } catch {
                errors.append(error)
            }
        }
        b.promotion = promotion
        try ReplicaUnderTest.run([a, b]) { b.isLeading && a.activity == .follows }
        #expect(!errors.isEmpty && errors.allSatisfy { $0 == .notLeading })
        #expect(!a.folder.names.contains { $0.hasPrefix("unreplicated-epoch-") })
        #expect(!a.lines.contains { $0.contains("must be rebuilt") })
        try ReplicaUnderTest.run([a, b]) { a.store.lastSequence == b.store.lastSequence }
    }

    // The leader ended its epoch just after the request was given up: nobody led until it claimed the lead.
    @Test("A leader that hands over after the request was withdrawn takes the lead again at once")
    func late() throws {
        let (a, b, promotion) = try askedLeader()
        try b.step()
        a.uptime += 1_000
        a.bucket.onRequest = { (operation, _) throws(ReplicationError) in
            // It has read the request.
            guard operation == .create, promotion.answer == nil else { return }
            do { try b.run { promotion.answer != nil } } catch { Issue.record(error) }
        }
        try a.run { a.activity == .follows }
        try a.run(5) { a.isLeading }
        guard case .refused = promotion.answer else { throw TestFailure("\(promotion.answer!)") }
        try ReplicaUnderTest.run([a, b]) { b.store.lastSequence == a.store.lastSequence }
        #expect(b.activity == .follows)
    }

    // Each of them waited for somebody else: the one that had asked was started again, and so was the one that had led.
    @Test("A host leads when the leader handed over to one that has forgotten its request")
    func handedOverToNobody() throws {
        let a = try leader()
        let b = try a.follower("b")
        let c = try a.follower("c")
        b.promotion = TestPromotion()
        try b.step()
        b.kill()
        try ReplicaUnderTest.run([a, c]) { a.activity == .follows }
        a.kill()
        try b.start()
        try ReplicaUnderTest.run([b, c]) { b.isLeading || c.isLeading }
    }

    // It took changes again, which its shard never had: its disk was full when it was deposed, and the request to hand over
    // was withdrawn.
    @Test("A deposed leader that cannot note that takes no changes, whatever is asked of it")
    func deposedWhileHandingOver() throws {
        let a = try leader()
        let b = try a.follower("b")
        let epoch = try #require(a.store.replicationState).epoch
        let request = HandoverDocument(
            storeID: a.store.id.description, epoch: epoch, host: "c", nonce: .random())
        try a.store.put("lost", [1])
        b.promotion = TestPromotion(isForced: true)
        try b.lead()
        a.bucket.shared[ShardNames.handover(epoch)] = request.bytes
        a.uptime += 2_000
        a.host.onWrite = { () throws(StoreError) in throw .full }
        // It finds the fence, and then what that means.
        try a.step()
        #expect(throws: StoreError.full) { try a.step() }
        #expect(a.lines.contains { $0.contains("Handing over") })
        #expect(a.store.refusesChanges)
        a.host.onWrite = {}
        a.bucket.shared[ShardNames.handover(epoch)] = nil
        a.uptime += 2_000
        var tookChanges = false
        a.bucket.onRequest = { [unowned a] _, _ in
            if !a.store.refusesChanges || a.isLeading { tookChanges = true }
        }
        try a.step()
        #expect(!tookChanges)
        #expect(a.restartReason != nil)
        #expect(a.folder.names.contains { $0.hasPrefix("unreplicated-epoch-") })
    }

    // Both were answered that they lead. The one whose fence came first had been deposed a moment later, and lost what
    // it had acknowledged until it knew.
    @Test("Of two hosts that are promoted at once one leads, whoever is first", arguments: 0..<12)
    func twoAtOnce(_ pause: Int) throws {
        let a = try leader()
        let (b, c) = (try a.follower("b"), try a.follower("c"))
        let promotions = [TestPromotion(), TestPromotion()]
        (b.promotion, c.promotion) = (promotions[0], promotions[1])
        // The first stands still at one of its requests, while the second and the leader go on.
        let first = b.bucket.requestCount
        b.bucket.onRequest = { [unowned b] _, _ in
            guard b.bucket.requestCount == first + pause else { return }
            b.bucket.onRequest = { _, _ in }
            do {
                for _ in 0..<40 { for host in [c, a] { try host.stepOrRestart() } }
            } catch { Issue.record(error) }
        }
        var acknowledged: [String] = []
        try ReplicaUnderTest.run([a, b, c]) {
            for host in [a, b, c] where host.isLeading {
                acknowledged.append("\(acknowledged.count)")
                try host.store.put(acknowledged.last!, [1])
            }
            return promotions.allSatisfy { $0.answer != nil } && acknowledged.count > 50
        }
        let led = promotions.filter { if case .leads = $0.answer { true } else { false } }
        // The one that asks when the other one leads already is handed over to in turn.
        #expect(led.count == 1 || led.count == 2 && pause < 3)
        try expectNothingLost(acknowledged, [a, b, c])
    }

    @Test(
        "Of two hosts that are promoted by force at once one leads, and has what the other one shipped",
        arguments: 0..<12)
    func twoForcedAtOnce(_ pause: Int) throws {
        let a = try leader()
        let (b, c) = (try a.follower("b"), try a.follower("c"))
        try a.store.put("before", [1])
        try a.ship()
        a.kill()
        let promotions = [TestPromotion(isForced: true), TestPromotion(isForced: true)]
        (b.promotion, c.promotion) = (promotions[0], promotions[1])
        // The first stands still at one of its requests, while the second goes on.
        let first = b.bucket.requestCount
        b.bucket.onRequest = { [unowned b] _, _ in
            guard b.bucket.requestCount == first + pause else { return }
            b.bucket.onRequest = { _, _ in }
            do { for _ in 0..<20 { try c.stepOrRestart() } } catch { Issue.record(error) }
        }
        var shipped: [String] = ["before"]
        for round in 0..<200 {
            for host in [b, c] { try host.stepOrRestart() }
            guard round % 10 == 0 else { continue }
            for host in [b, c] where host.isLeading {
                let id = "n\(shipped.count)"
                try host.store.put(id, [1])
                // What its client would be told.
                for _ in 0..<5 where host.isLeading { try host.stepOrRestart() }
                if host.isLeading, host.store.shippedSequence == host.store.lastSequence {
                    shipped.append(id)
                }
            }
        }
        #expect(promotions.allSatisfy { $0.answer != nil })
        let leaders = [b, c].filter(\.isLeading)
        #expect(leaders.count == 1, "\([b, c].flatMap(\.lines))")
        #expect(shipped.count > 10)
        for id in shipped { #expect(try leaders.first?.store.get(id) == [1], "\(id)") }
        try ReplicaUnderTest.run([b, c]) { b.store.lastSequence == c.store.lastSequence }
    }

    /// One host leads, has all changes, and none was deposed.
    private func expectNothingLost(_ changes: [String], _ hosts: [ReplicaUnderTest]) throws {
        let leaders = hosts.filter(\.isLeading)
        #expect(leaders.count == 1, "\(hosts.flatMap(\.lines))")
        for change in changes { #expect(try leaders.first?.store.get(change) == [1]) }
        for host in hosts {
            #expect(!host.lines.contains { $0.contains("is no longer the leader") })
        }
    }

    // The one that had been cut off found the end of the epoch that it had asked for, and took the lead from the one
    // that was promoted in its stead.
    @Test(
        "A host that was cut off while it asked does not take the lead from another one",
        arguments: [(0, false), (1, false), (0, true), (1, true)])
    func cutOff(_ kind: Int, isKilled: Bool) throws {
        for index in 0..<10 {
            let objects = MemoryObjects()
            let a = ReplicaUnderTest("a", objects)
            try a.start()
            try a.lead()
            let (b, c) = (try a.follower("b"), try a.follower("c"))
            let (asked, other) = (TestPromotion(), TestPromotion())
            b.promotion = asked
            let first = b.bucket.requestCount
            b.bucket.cut = { request in
                guard request >= first + index else { return .none }
                return kind == 1 && request == first + index ? .after : .before
            }
            // What cannot be created is tried until it can be: this step ends when the process does.
            b.bucket.onRequest = { [unowned b] (_, _) throws(ReplicationError) in
                if b.bucket.requestCount > first + index + 4 { throw .stopped }
            }
            for _ in 0..<60 {
                try? b.step()
                b.uptime += 100
                try a.step()
            }
            if isKilled { b.kill() }
            for _ in 0..<20 { try c.step() }
            c.promotion = other
            try ReplicaUnderTest.run([a, c]) { other.answer != nil }
            var acknowledged: [String] = []
            func change() throws {
                for host in [a, b, c] where host.isLeading {
                    acknowledged.append("\(acknowledged.count)")
                    try host.store.put(acknowledged.last!, [1])
                }
            }
            try change()
            (b.bucket.cut, b.bucket.onRequest) = ({ _ in .none }, { _, _ in })
            let hasLost = b.store != nil && !b.isLeading && asked.answer != nil
            var wasPromoted = false
            for round in 0..<120 {
                for host in [b, a, c] { try host.stepOrRestart() }
                if round % 20 == 0 { try change() }
                wasPromoted = wasPromoted || b.isLeading
            }
            if hasLost, case .leads = other.answer { #expect(!wasPromoted, "request \(index)") }
            try expectNothingLost(acknowledged, [a, b, c])
        }
    }

    // The request that came first was forgotten, and its client waited until it gave up.
    @Test("Each request for the lead is answered")
    func answered() throws {
        let a = try leader()
        let b = try a.follower("b")
        let (first, second, third) = (
            TestPromotion(), TestPromotion(), TestPromotion(isForced: true)
        )
        for promotion in [first, second, third] {
            b.promotion = promotion
            try b.step()
        }
        for promotion in [first, second] {
            guard case .refused = promotion.answer else { throw TestFailure("no answer") }
        }
        try b.step()
        #expect(third.answer == .leads(b.store.replicationState!.epoch))
    }
}
