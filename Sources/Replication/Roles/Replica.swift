package import BlobStore

/// A store's part in its shard, one step at a time: it leads or it follows.
///
/// It has no thread and no clock. The process that runs it calls ``step(on:)`` until it says that the process
/// must be started again.
package struct Replica {
    package enum Step: Sendable {
        case again
        case wait(milliseconds: Int)
        case mustRestart(why: String)
    }

    enum Outcome {
        case next(Step)
        case follows(Follower.Past)
        case leads(LogWriter)
    }

    private enum Role {
        case leading(Leader)
        case following(Follower)
    }

    private let store: BlobStore
    private let host: any ReplicaHost
    private var role: Role

    package init(_ store: BlobStore, _ host: any ReplicaHost) {
        self.store = store
        self.host = host
        if store.replicationState?.role == .leader {
            role = .leading(Leader(store, host))
        } else {
            role = .following(Follower(store, host))
        }
    }

    /// The last batch that clients who wait for the bucket have waited for.
    package var reachedSequence: UInt64 {
        switch role {
        case .leading(let leader): leader.replicatedSequence
        case .following: store.lastSequence
        }
    }

    /// What it cannot do at present although its steps succeed; nil: nothing.
    package var problem: String? {
        switch role {
        case .leading(let leader): leader.problem
        case .following(let follower): follower.problem
        }
    }

    /// What a follower lacks; nil: it leads.
    package var ungiven: UngivenPayloads? {
        switch role {
        case .leading: nil
        case .following(let follower): follower.ungiven
        }
    }

    package mutating func step(on bucket: any Bucket) throws -> Step {
        do {
            return try roleStep(on: bucket)
        } catch let error as ReplicationError {
            switch error {
            case .tooOld, .forked:
                return .mustRestart(why: "\(error): this store must be rebuilt from the bucket")
            default: throw error
            }
        }
    }

    private mutating func roleStep(on bucket: any Bucket) throws -> Step {
        let outcome: Outcome
        var isDone = false
        defer { host.progress.noteStep(succeeded: isDone) }
        switch role {
        case .leading(var leader):
            defer { role = .leading(leader) }
            outcome = try leader.step(on: bucket)
            isDone = !leader.isTryingAgain
        case .following(var follower):
            defer { role = .following(follower) }
            outcome = try follower.step(on: bucket)
            isDone = true
        }
        switch outcome {
        case .next(let step): return step
        case .follows(let past): role = .following(Follower(store, host, past))
        case .leads(let writer): role = .leading(Leader(store, host, writer))
        }
        return .again
    }
}
