internal import BlobStore

/// What becomes of a request for the lead that is not by force: the leader is asked, and answers or does not. What is left
/// of it in the bucket is deleted.
struct HandoverRequest {
    private struct Asked {
        let request: any PromotionRequest
        let end: Int64
        /// What the leader was asked; nil: it will be when this host has applied all that is there, since the leader
        /// takes no changes until then.
        var document: HandoverDocument?
        /// Whether the leader has ended its epoch since.
        var isGranted = false
    }

    private let store: BlobStore
    private let host: any ReplicaHost
    private var asked: Asked?
    /// What may be in the bucket still of a request that was given up.
    private var withdrawn: HandoverDocument?

    init(_ store: BlobStore, _ host: any ReplicaHost) {
        self.store = store
        self.host = host
    }

    /// How often it is tried to ask the leader, where the answer is lost.
    private static let attemptCountMax = 2

    /// Who asked here; nil: nobody does.
    var request: (any PromotionRequest)? { asked?.request }
    var isPending: Bool { asked != nil }
    var isUnasked: Bool { asked.map { $0.document == nil } ?? false }
    var isGranted: Bool { asked?.isGranted ?? false }

    mutating func begin(_ request: any PromotionRequest) {
        asked = Asked(
            request: request,
            end: host.uptime + Int64(ReplicationLimits.handoverMilliseconds))
    }

    /// Forgets who asked: they are answered otherwise.
    mutating func end() { asked = nil }

    /// Forgets who asked, and withdraws what the leader was asked.
    mutating func withdraw() {
        withdrawn = asked?.document ?? withdrawn
        asked = nil
    }

    /// Asks the leader of an epoch, or gives up where another host has.
    mutating func ask(_ leader: String, of epoch: UInt64, on bucket: any Bucket) throws {
        do {
            guard let document = try ask(epoch, on: bucket) else {
                return giveUp("another host has already asked the leader \(leader) to hand over")
            }
            asked?.document = document
        } catch {
            giveUp("cannot ask the leader: \(error)")
            throw error
        }
    }

    /// - Returns: the request that is in the bucket; nil: another host has asked before.
    private mutating func ask(
        _ epoch: UInt64, on bucket: any Bucket
    ) throws -> HandoverDocument? {
        let document = HandoverDocument(
            storeID: store.id.description, epoch: epoch, host: host.settings.hostName,
            nonce: .random())
        let name = ShardNames.handover(document.epoch)
        // Unless it is known what is there: it may get there late.
        withdrawn = document
        let other = try bucket.createUntilKnown(
            name, document.bytes, byteCountMax: ReplicationLimits.handoverByteCountMax,
            attemptCountMax: Self.attemptCountMax)
        withdrawn = nil
        guard let other else { return document }
        do throws(DamagedObject) {
            let found = try HandoverDocument(other)
            // This host asked, and was started again.
            return found.host == document.host ? found : nil
        } catch {
            throw ReplicationError.damaged(name: name, why: error.description)
        }
    }

    /// Notes what a segment of a leader says to it.
    mutating func noteAnswer(of segment: Segment.Head, by leader: String) {
        guard let document = asked?.document else { return }
        if segment.epoch == document.epoch {
            asked?.isGranted = segment.kind == .end
        } else if segment.epoch > document.epoch {
            giveUp("\(leader) took the lead in the meantime (epoch \(segment.epoch))")
        }
    }

    var isLate: Bool { asked.map { host.uptime >= $0.end } ?? false }

    /// Gives up because the leader has not answered in time.
    mutating func giveUpLate(_ leader: String, on bucket: (any Bucket)? = nil) {
        let limit = "within \(ReplicationLimits.handoverMilliseconds / 1_000) s"
        giveUp(
            isUnasked
                ? "this daemon did not apply all changes of the leader \(leader) \(limit): see its log"
                : "the leader \(leader) did not hand over \(limit); if it is gone for good, use --force",
            on: bucket)
    }

    /// Refuses the request. From here on this host does not take the lead by it, also where the leader still grants it.
    mutating func giveUp(_ why: String, on bucket: (any Bucket)? = nil) {
        guard let request else { return }
        withdraw()
        if let bucket { deleteWithdrawn(on: bucket) }
        request.refuse(why)
    }

    /// Deletes what was withdrawn, as soon as the bucket is there.
    mutating func deleteWithdrawn(on bucket: any Bucket) {
        guard let document = withdrawn else { return }
        do throws(ReplicationError) {
            let found = try HandoverDocument.read(document.epoch, of: store.id, on: bucket)
            // Another host's, where an earlier answer was lost.
            if found == document { try bucket.delete(ShardNames.handover(document.epoch)) }
            withdrawn = nil
        } catch {
            if case .bucket(_, isLasting: true) = error { withdrawn = nil }
        }
    }
}
