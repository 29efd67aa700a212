import BlobProtocol
import BlobStore
import Replication
import TestSupport
import Testing

@testable import BlobServer

/// What a change that waits for the bucket is answered with, whatever its daemon is by then. No sockets.
@Suite struct ReplicatedAnswerTests {
    private let inbox: WorkerInbox
    private let connection: ConnectionAddress

    init() throws {
        inbox = try WorkerInbox()
        connection = ConnectionAddress(
            inbox: inbox, token: ConnectionToken(slot: 1, generation: 1))
    }

    private func status(_ role: ReplicaStatus.Role) throws -> ReplicaStatus {
        try ReplicaStatus(ReplicaOptions(), role: role, counters: nil)
    }

    /// What the connection was told.
    private func told() -> [String] {
        inbox.takeAll().compactMap { message in
            guard case .replicated(let result) = message.content else { return nil }
            return switch result {
            case .applied(.deleted): "deleted"
            case .applied(.notFound): "notFound"
            case .refused(let error): error.code.rawValue
            default: "\(result)"
            }
        }
    }

    @Test(
        "A change that is committed and not shipped is not acknowledged by who has just lost the lead",
        arguments: [ReplicaStatus.Role.leader, .changing, .follower])
    func lostLead(role: ReplicaStatus.Role) throws {
        let status = try status(role)
        #expect(
            status.awaitBucket(.applied(.deleted), in: BatchSpan(8), for: connection, asOf: .now)
                == nil)
        status.complete(upTo: 7, asOf: .now)
        #expect(told() == [])
        status.failAll(.stopping)
        #expect(told() == ["stopping"])
    }

    // The refusal of the first one was answered, the bucket was mended and the lead asked for again before the thread that
    // replicates noted the failure: it answered the second request with the failure of the first.
    @Test("A request for the lead is not refused for what failed before it")
    func promotionAfterAFailure() throws {
        let status = try status(.follower)
        let before = Instant(nanoseconds: Instant.now.nanoseconds - 1)
        let request = ReplicaStatus.Promotion(isForced: true, connection: connection)
        #expect(status.promote(request))
        #expect(status.takePromotion(askedUntil: before) == nil)
        #expect(status.hasPromotion)
        #expect(status.takePromotion(askedUntil: request.askedAt)?.isForced == true)
        #expect(!status.hasPromotion)
    }

    // It waited for the end of a step, however long the bucket took.
    @Test("A request for the lead that is not begun is refused after its time, and not before")
    func latePromotion() throws {
        let status = try status(.follower)
        let request = ReplicaStatus.Promotion(isForced: false, connection: connection)
        #expect(status.promote(request))
        let limit = ReplicationLimits.handoverMilliseconds
        status.refuseLatePromotion(asOf: request.askedAt.after(milliseconds: limit - 1))
        #expect(status.hasPromotion)
        status.refuseLatePromotion(asOf: request.askedAt.after(milliseconds: limit))
        #expect(!status.hasPromotion)
        #expect(told() == ["unavailable"])
    }

    // They waited for the end of a step, in which a long payload was uploaded, say.
    @Test("A wait that takes too long ends without the thread that ships")
    func expired() throws {
        let folder = TemporaryFolder()
        let store = try BlobStore.open(at: folder.path)
        let status = try status(.leader)
        let now = Instant.now
        status.complete(upTo: 7, asOf: now)
        for (result, last) in [
            (ChangeResult.applied(.deleted), UInt64(8)), (.applied(.notFound), 7),
        ] {
            #expect(
                status.awaitBucket(result, in: BatchSpan(last), for: connection, asOf: now) == nil)
        }
        status.look(at: store, asOf: now.after(milliseconds: 59_000))
        #expect(told() == [])
        status.look(at: store, asOf: now.after(milliseconds: 61_000))
        #expect(told() == ["unreplicated", "unreplicated"])
    }

    // It was refused as not in the bucket: waits were ended by what was known before the step.
    @Test("A change that the step has just shipped is acknowledged, however late")
    func shippedLate() throws {
        let folder = TemporaryFolder()
        let store = try BlobStore.open(at: folder.path)
        let status = try status(.leader)
        let now = Instant.now
        status.complete(upTo: 7, asOf: now)
        #expect(
            status.awaitBucket(.applied(.deleted), in: BatchSpan(8), for: connection, asOf: now)
                == nil)
        status.complete(upTo: 8, lookingAt: store, asOf: now.after(milliseconds: 61_000))
        #expect(told() == ["deleted"])
    }

    @Test("A change is acknowledged when the bucket has it")
    func shipped() throws {
        let status = try status(.leader)
        let now = Instant.now
        #expect(
            status.awaitBucket(.applied(.deleted), in: BatchSpan(8), for: connection, asOf: now)
                == nil)
        status.complete(upTo: 8, asOf: now)
        #expect(told() == ["deleted"])
    }

    @Test("A change without effect waits for a segment that is begun after it")
    func withoutEffect() throws {
        let status = try status(.leader)
        let now = Instant.now
        let nothing = ChangeResult.applied(.notFound)
        #expect(!status.beginSegment())
        #expect(status.awaitBucket(nothing, in: BatchSpan(7), for: connection, asOf: now) == nil)
        // The one that was begun before is appended.
        status.noteSegmentAppended()
        status.complete(upTo: 7, asOf: now)
        #expect(told() == [])
        #expect(status.beginSegment())
        status.complete(upTo: 7, asOf: now)
        #expect(told() == [])
        status.noteSegmentAppended()
        status.complete(upTo: 7, asOf: now)
        #expect(told() == ["notFound"])
    }

    @Test("A change without effect is refused by a host that follows by now, or cannot know")
    func withoutEffectAndLead() throws {
        let status = try status(.leader)
        let now = Instant.now
        let nothing = ChangeResult.applied(.notFound)
        #expect(status.awaitBucket(nothing, in: BatchSpan(7), for: connection, asOf: now) == nil)
        status.role = .follower
        status.complete(upTo: 9, asOf: now)
        #expect(told() == ["follower"])
        status.role = .leader
        #expect(status.awaitBucket(nothing, in: BatchSpan(7), for: connection, asOf: now) == nil)
        status.complete(
            upTo: 7, asOf: now.after(milliseconds: status.options.unreplicatedMillisecondsMax + 1))
        #expect(told() == ["unreplicated"])
    }

    // A waiter had the store's last batch when it began to wait: one that came late was acknowledged, and others that had
    // nothing to do with what was lost were refused.
    @Test("What refers to a lost payload is refused, also later, and nothing else is")
    func lost() throws {
        let status = try status(.leader)
        let now = Instant.now
        func wait(_ batches: BatchSpan) {
            #expect(
                status.awaitBucket(.applied(.deleted), in: batches, for: connection, asOf: now)
                    == nil)
        }
        for number: UInt64 in 6...9 { wait(BatchSpan(number)) }
        wait(BatchSpan(first: 5, last: 9))
        status.refuse(ProtocolError(.unreplicated, "lost"), of: [7, 8])
        #expect(told() == ["unreplicated", "unreplicated", "unreplicated"])
        status.complete(upTo: 9, asOf: now)
        #expect(told() == ["deleted", "deleted"])
        wait(BatchSpan(8))
        #expect(told() == ["unreplicated"])
        wait(BatchSpan(9))
        #expect(told() == [])
        status.complete(upTo: 9, asOf: now)
        #expect(told() == ["deleted"])
    }

    @Test("Where too many wait, one more is refused and not acknowledged")
    func tooMany() throws {
        let status = try status(.leader)
        let now = Instant.now
        for _ in 0..<ReplicaStatus.waiterCountMax {
            #expect(
                status.awaitBucket(
                    .applied(.deleted), in: BatchSpan(8), for: connection, asOf: now)
                    == nil)
        }
        guard
            case .refused(let error)? = status.awaitBucket(
                .applied(.deleted), in: BatchSpan(8), for: connection, asOf: now)
        else {
            Issue.record("one more was not refused")
            return
        }
        #expect(error.code == .unreplicated)
    }
}
