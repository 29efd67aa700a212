import BlobStore
import TestSupport
import Testing

@testable import Replication

/// What a follower does that cannot get past a place of the log, by itself or with what it says.
@Suite struct ObstacleTests {
    private let objects = MemoryObjects()

    /// A leader, and a follower that has all of it.
    private func hosts() throws -> (ReplicaUnderTest, ReplicaUnderTest) {
        let a = try ReplicaUnderTest.leader(objects)
        let b = ReplicaUnderTest("b", objects, mayBegin: false)
        try b.start()
        try b.run { b.store.lastSequence == a.store.lastSequence }
        return (a, b)
    }

    private func change(_ id: String, _ a: ReplicaUnderTest) throws {
        try a.store.put(id, [1])
        try a.lead()
    }

    /// Steps that fail, for a while.
    private func fail(_ host: ReplicaUnderTest, seconds: Int64) {
        let end = host.uptime + seconds * 1_000
        while host.uptime < end, host.restartReason == nil {
            try? host.step()
            host.uptime += 4_000
        }
    }

    /// From now on a host may read no payload.
    private func refusePayloads(_ host: ReplicaUnderTest, isLasting: Bool) {
        for bucket in [host.bucket, host.upkeep] {
            bucket.onRequest = { (operation, name) throws(ReplicationError) in
                guard operation == .get, name.hasPrefix(ShardNames.blobPrefix) else { return }
                throw .bucket(
                    "get \(name): 403 AccessDenied: Allow s3:GetObject", isLasting: isLasting)
            }
        }
    }

    // It paused for good, and gave no advice.
    @Test("A follower whose store is damaged says what to do, and is rebuilt from the next base")
    func ownDamage() throws {
        let (a, b) = try hosts()
        var asked = ""
        b.bucket.onRequest = { (_, name) in asked = name }
        b.host.onWrite = { () throws(StoreError) in
            if asked.hasPrefix(ShardNames.logPrefix) { throw .corrupt("page 7") }
        }
        try change("later", a)
        fail(b, seconds: 60)
        #expect(b.restartReason == nil)
        let advice = b.lines.filter { $0.contains("page 7") }
        #expect(advice.count == 1)
        #expect(advice.first?.contains("empty \(b.store.directory) and start it") == true)
        try a.writeBase()
        fail(b, seconds: 60)
        #expect(b.restartReason != nil)
        b.host.onWrite = {}
        try b.stepOrRestart()
        try b.run { b.store.lastSequence == a.store.lastSequence }
        #expect(try b.store.get("later") == [1])
    }

    @Test("A follower that is never given a segment is rebuilt from the base after it, not at once")
    func notGiven() throws {
        let (a, b) = try hosts()
        try change("lost", a)
        let name = ShardNames.log(try #require(a.store.replicationState).position.number)
        let fail500 = {
            (operation: MemoryBucket.Operation, asked: String) throws(ReplicationError) in
            if operation == .get, asked == name { throw .bucket("500") }
        }
        b.bucket.onRequest = fail500
        try change("later", a)
        try a.writeBase()
        fail(b, seconds: 60)
        #expect(b.restartReason == nil)
        // A bucket that is away, and comes back.
        b.bucket.onRequest = { (_, _) throws(ReplicationError) in throw .bucket("away") }
        fail(b, seconds: 600)
        #expect(b.restartReason == nil)
        b.bucket.onRequest = { _, _ in }
        try b.run { b.store.lastSequence == a.store.lastSequence }
        #expect(!b.lines.contains { $0.contains("continuing from the base") })
        // Another one that stays so.
        try change("more", a)
        let next = ShardNames.log(try #require(a.store.replicationState).position.number)
        try change("end", a)
        try a.writeBase()
        b.bucket.onRequest = { (operation, asked) throws(ReplicationError) in
            if operation == .get, asked == next { throw .bucket("500") }
        }
        fail(b, seconds: 200)
        #expect(b.restartReason != nil)
        b.bucket.onRequest = { _, _ in }
        try b.stepOrRestart()
        try b.run { b.store.lastSequence == a.store.lastSequence }
    }

    enum Bad: CaseIterable { case notGiven, missing, damaged }

    // It stood there for good.
    @Test(
        "A follower that is never given a payload continues without it, and says so until it is given",
        arguments: Bad.allCases)
    func payload(_ bad: Bad) throws {
        let (a, b) = try hosts()
        let bytes = SeededGenerator.bytes(100_000)
        let blob = try a.store.put("long", bytes).parts[0].blob
        let other = try a.store.put("other", SeededGenerator.bytes(90_000, seed: 2)).parts[0].blob
        try a.lead()
        let object = objects[ShardNames.blob(blob)]
        switch bad {
        case .notGiven:
            b.bucket.onRequest = { (operation, name) throws(ReplicationError) in
                if operation == .get, name == ShardNames.blob(blob) {
                    throw .bucket("get \(name): 500")
                }
            }
            b.upkeep.onRequest = b.bucket.onRequest
        case .missing: objects[ShardNames.blob(blob)] = nil
        case .damaged: objects[ShardNames.blob(blob)]?[99] ^= 1
        }
        fail(b, seconds: 10)
        #expect(b.store.lastSequence < a.store.lastSequence)
        fail(b, seconds: 140)
        #expect(b.restartReason == nil && b.store.lastSequence == a.store.lastSequence)
        #expect(throws: StoreError.evicted(blob)) { try b.store.get("long") }
        #expect(try b.store.get("other") == SeededGenerator.bytes(90_000, seed: 2))
        #expect(b.lines.count { $0.contains("does not give \(blob.digest)") } == 1)
        #expect(!b.lines.contains { $0.contains("\(other.digest)") })
        #expect(b.problem?.contains("\(blob.digest)") == true)
        // It is asked for ever more seldom.
        let gets = b.bucket.counts[.get] ?? 0
        fail(b, seconds: 3_600)
        let polls = 3_600 / 4 + 3_600 / 5
        #expect((b.bucket.counts[.get] ?? 0) - gets < polls + 60)
        if bad != .notGiven { #expect((10...60).contains(b.upkeep.counts[.get] ?? 0)) }
        try change("later", a)
        try b.run { b.store.lastSequence == a.store.lastSequence }
        #expect(b.problem != nil)
        b.bucket.onRequest = { _, _ in }
        b.upkeep.onRequest = { _, _ in }
        objects[ShardNames.blob(blob)] = object
        try b.run(2_000) { b.problem == nil }
        #expect(try b.store.get("long") == bytes)
        #expect(try b.store.verify().problems == [])
    }

    /// A leader, and a follower that went on without a payload, which the bucket has lost: with its object.
    private func lackingHosts() throws -> (
        ReplicaUnderTest, ReplicaUnderTest, blob: BlobReference, object: [UInt8]
    ) {
        let (a, b) = try hosts()
        let blob = try a.store.put("long", SeededGenerator.bytes(100_000)).parts[0].blob
        try a.lead()
        let object = try #require(objects[ShardNames.blob(blob)])
        objects[ShardNames.blob(blob)] = nil
        fail(b, seconds: 150)
        #expect(b.store.lastSequence == a.store.lastSequence)
        #expect(b.problem?.contains("\(blob.digest)") == true)
        return (a, b, blob, object)
    }

    // It forgot them: nothing named them, nor asked for them.
    @Test("A follower that is started again knows which payloads it lacks, and fetches them")
    func payloadAfterRestart() throws {
        let (_, b, blob, object) = try lackingHosts()
        b.kill()
        // A bucket that is away says nothing of its objects.
        b.upkeep.onRequest = { (_, name) throws(ReplicationError) in
            throw .bucket("get \(name): away")
        }
        try b.start()
        fail(b, seconds: 60)
        #expect(b.problem?.contains("has yet to fetch: \(blob.digest)") == true)
        b.upkeep.onRequest = { _, _ in }
        fail(b, seconds: 600)
        #expect(b.problem?.contains("does not give: \(blob.digest)") == true)
        b.kill()
        objects[ShardNames.blob(blob)] = object
        try b.start()
        #expect(b.problem != nil)
        try b.run { b.problem == nil }
        #expect(b.lines.count { $0.contains("gives \(blob.digest) again") } == 1)
        #expect(try b.store.get("long") == SeededGenerator.bytes(100_000))
        // One that evicts payloads lacks them by intent.
        let (_, other, _, _) = try ObstacleTests().lackingHosts()
        other.kill()
        other.settings.localByteCountMax = 1 << 40
        try other.start()
        #expect(other.problem == nil)
    }

    // The retry passes over what was applied.
    @Test("A payload that was left out is noted where applying fails after that")
    func payloadBeforeFailure() throws {
        let (a, b) = try hosts()
        let blob = try a.store.put("long", SeededGenerator.bytes(100_000)).parts[0].blob
        try a.lead()
        objects[ShardNames.blob(blob)] = nil
        var failureCount = 0
        b.host.onWritten = { [unowned b] () throws(StoreError) in
            guard b.store.lastSequence == a.store.lastSequence, failureCount == 0 else { return }
            failureCount += 1
            throw .full
        }
        fail(b, seconds: 150)
        #expect(failureCount == 1 && b.store.lastSequence == a.store.lastSequence)
        #expect(b.problem?.contains("\(blob.digest)") == true)
        #expect(b.lines.count { $0.contains("does not give \(blob.digest)") } == 1)
    }

    // It led, and nothing said what was lost, or mended it.
    @Test("A follower that lacks a payload takes the lead by force only, and says what it lacks")
    func payloadAndLead() throws {
        let (a, b, blob, _) = try lackingHosts()
        let planned = TestPromotion()
        b.promotion = planned
        try b.step()
        guard case .refused(let why) = planned.answer else { throw TestFailure("no answer") }
        #expect(why.contains("\(blob.digest)") && why.contains("--force"))
        #expect(b.lines.count { $0.hasPrefix("Not taking the lead: this host lacks") } == 1)
        #expect(b.activity == .follows && a.isLeading)
        a.kill()
        b.settings.autoPromoteMilliseconds = 30_000
        fail(b, seconds: 200)
        #expect(b.activity == .follows)
        #expect(b.lines.count { $0.contains("does not take the lead: this host lacks") } == 1)
        let forced = TestPromotion(isForced: true)
        b.promotion = forced
        try b.run { b.isLeading }
        #expect(forced.answer == .leads(try #require(b.store.replicationState).epoch))
        let said = b.lines.filter { $0.hasPrefix("Leading without payloads") }
        #expect(said.count == 1 && said[0].contains("\(blob.digest)"))
    }

    // The whole follower stood still for good, and each payload of many was waited for as long as the first.
    @Test(
        "A follower goes on without all payloads that it is not given once it has waited for one",
        arguments: [false, true])
    func manyPayloads(isDenied: Bool) throws {
        let (a, b) = try hosts()
        var blobs: [BlobReference] = []
        func put(_ count: Int) throws {
            for _ in 0..<count {
                let number = blobs.count
                let bytes = SeededGenerator.bytes(70_000 + number, seed: UInt64(number))
                blobs.append(try a.store.put("\(number)", bytes).parts[0].blob)
                try a.lead()
            }
        }
        refusePayloads(b, isLasting: isDenied)
        try put(1)
        fail(b, seconds: 100)
        #expect(b.store.lastSequence < a.store.lastSequence)
        fail(b, seconds: 60)
        #expect(b.store.lastSequence == a.store.lastSequence && b.restartReason == nil)
        try put(30)
        try b.run(100) { b.store.lastSequence == a.store.lastSequence }
        #expect(b.problem?.contains("and 30 more: get blob/") == true)
        let said = b.lines.filter { $0.contains("does not give \(blobs[0].digest)") }
        #expect(said.count == 1 && said[0].contains("get \(ShardNames.blob(blobs[0])): 403"))
        #expect(said[0].contains("Whoever manages the permissions") == isDenied)
        // It continues when that is allowed, and waits for the next one that is not given.
        b.bucket.onRequest = { _, _ in }
        b.upkeep.onRequest = { _, _ in }
        try b.run(4_000) { b.problem == nil }
        #expect(try b.store.get("30") == SeededGenerator.bytes(70_030, seed: 30))
        refusePayloads(b, isLasting: isDenied)
        try put(1)
        fail(b, seconds: 100)
        #expect(b.store.lastSequence < a.store.lastSequence)
    }

    // Those beyond the bound were forgotten: it counted as whole without them.
    @Test("A follower that lacks more payloads than it keeps in mind fetches all of them")
    func morePayloads() throws {
        let (a, b) = try hosts()
        b.settings.ungivenPayloadCountMax = 2
        b.kill()
        try b.start()
        refusePayloads(b, isLasting: true)
        for number in 0..<7 {
            try a.store.put("\(number)", SeededGenerator.bytes(70_000, seed: UInt64(number)))
            try a.lead()
        }
        fail(b, seconds: 200)
        #expect(b.store.lastSequence == a.store.lastSequence)
        #expect(b.problem?.contains("and 1 more") == true)
        (b.bucket.onRequest, b.upkeep.onRequest) = ({ _, _ in }, { _, _ in })
        try b.run(4_000) { b.problem == nil }
        for number in 0..<7 {
            #expect(
                try b.store.get("\(number)")
                    == SeededGenerator.bytes(70_000, seed: UInt64(number)))
        }
    }

    // A segment that may not be read was waited for, also where a base was after it.
    @Test("A follower that may not read one segment is rebuilt from the base after it")
    func deniedSegment() throws {
        let (a, b) = try hosts()
        try change("denied", a)
        let name = ShardNames.log(try #require(a.store.replicationState).position.number)
        try change("later", a)
        try a.writeBase()
        b.bucket.onRequest = { (operation, asked) throws(ReplicationError) in
            if operation == .get, asked == name { throw .bucket("403", isLasting: true) }
        }
        fail(b, seconds: 100)
        #expect(b.restartReason == nil)
        fail(b, seconds: 100)
        #expect(b.restartReason != nil)
        try b.stepOrRestart()
        try b.run { b.store.lastSequence == a.store.lastSequence }
        #expect(try b.store.get("denied") == [1])
    }

    // One that was never answered held it up, again and again; and each of several was asked for alone.
    @Test("The thread that follows asks for payloads of a segment together, and for none again")
    func together() throws {
        let (a, b) = try hosts()
        let blobs = try (0..<6).map {
            try a.store.put("\($0)", SeededGenerator.bytes(70_000, seed: UInt64($0))).parts[0].blob
        }
        try a.lead()
        let lost = blobs.prefix(3)
        for blob in lost { objects[ShardNames.blob(blob)] = nil }
        var askedCount = 0
        b.bucket.onRequest = { (operation, name) in
            if operation == .get, name.hasPrefix(ShardNames.blobPrefix) { askedCount += 1 }
        }
        while b.store.lastSequence < a.store.lastSequence {
            askedCount = 0
            fail(b, seconds: 4)
        }
        #expect(b.bucket.widths.last == 6 && askedCount == 6)
        askedCount = 0
        b.looksForPayloads = false
        fail(b, seconds: 600)
        try change("later", a)
        try b.run { b.store.lastSequence == a.store.lastSequence }
        #expect(askedCount == 0 && b.upkeep.counts[.get] == nil)
        b.looksForPayloads = true
        fail(b, seconds: 600)
        #expect(askedCount == 0 && b.upkeep.counts[.get] ?? 0 > 2)
    }

    // A fetch that fails while the bucket is away says nothing of the payload.
    @Test("A follower that was cut off before a base is made loses nothing by that")
    func cutOff() throws {
        let (a, b) = try hosts()
        try b.step()
        let bytes = SeededGenerator.bytes(100_000)
        try a.store.put("long", bytes)
        for number in 0..<4 { try change("n\(number)", a) }
        try a.writeBase()
        var isAway = true
        b.bucket.onRequest = { (_, _) throws(ReplicationError) in
            if isAway { throw .bucket("away") }
        }
        fail(b, seconds: 1_200)
        // It is back between the look that fails and the one that decides.
        var requestCount = 0
        b.bucket.onRequest = { (_, _) throws(ReplicationError) in
            requestCount += 1
            if requestCount == 1 { throw .bucket("away") }
        }
        isAway = false
        #expect(throws: ReplicationError.bucket("away")) { try b.step() }
        #expect(b.restartReason == nil && requestCount > 1)
        try b.run { b.store.lastSequence == a.store.lastSequence }
        #expect(b.restartReason == nil && b.problem == nil)
        #expect(try b.store.get("long") == bytes)
    }

    // It said nothing to who had promoted it, nor that nobody leads.
    @Test(
        "A promoted host that cannot apply what lies before its fence says so, and follows another one"
    )
    func stuckBehindFence() throws {
        let (a, b) = try hosts()
        let c = ReplicaUnderTest("c", objects, mayBegin: false)
        try c.start()
        for number in 0..<300 { try change("n\(number)", a) }
        let promotion = TestPromotion(isForced: true)
        b.promotion = promotion
        b.bucket.onRequest = { [unowned b] _, _ in b.uptime += 100 }
        try b.step()
        #expect(b.isChanging)
        a.kill()
        b.host.onWrite = { () throws(StoreError) in throw .full }
        fail(b, seconds: 30)
        guard case .refused(let why) = promotion.answer else { throw TestFailure("no answer") }
        #expect(why.contains("cannot apply segment"))
        #expect(why.contains("--force there"))
        #expect(b.isChanging)
        let other = TestPromotion(isForced: true)
        c.promotion = other
        try c.run { c.isLeading }
        fail(b, seconds: 20)
        #expect(b.activity == .follows)
        b.host.onWrite = {}
        b.bucket.onRequest = { _, _ in }
        try ReplicaUnderTest.run([b, c]) { b.store.lastSequence == c.store.lastSequence }
        #expect(c.isLeading && b.activity == .follows)
    }
}
