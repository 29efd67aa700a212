import BlobProtocol
import BlobStore
import Logging
import Replication

/// What a daemon of a shard does at the moment, one step at a time: lead or follow.
struct ReplicaRole {
    /// What comes behind a step.
    enum Step {
        case again
        /// Until somebody has something to do, at most so long.
        case wait(milliseconds: Int)
        /// This process can neither lead nor follow.
        case mustRestart(why: String)
    }

    private enum Duty {
        case leading(LeaderDuty)
        case following(FollowerDuty)
    }

    private let context: ReplicaThread.Context
    private let bucket: any Bucket
    private var duty: Duty

    init(_ context: ReplicaThread.Context, on bucket: any Bucket) {
        self.context = context
        self.bucket = bucket
        let state = context.store.replicationState
        if state?.role == .leader {
            duty = .leading(LeaderDuty(context))
        } else {
            duty = .following(FollowerDuty(context))
        }
    }

    /// Up to where those who wait have what they wait for.
    var reachedSequence: UInt64 {
        switch duty {
        case .leading: context.store.shippedSequence
        case .following: context.store.lastSequence
        }
    }

    mutating func step() throws -> Step {
        switch duty {
        case .leading(var leader):
            let outcome = try {
                defer { duty = .leading(leader) }
                return try leader.step(on: bucket)
            }()
            switch outcome {
            case .goesOn(let step): return step
            case .deposed(let host, let epoch):
                return .mustRestart(
                    why: "\(host) leads since epoch \(epoch): this store must be made anew")
            case .handedOver:
                duty = .following(FollowerDuty(context, hasHandedOver: true))
                return .again
            }
        case .following(var follower):
            let outcome = try {
                defer { duty = .following(follower) }
                return try follower.step(on: bucket)
            }()
            switch outcome {
            case .goesOn(let step): return step
            case .leads(let writer):
                duty = .leading(LeaderDuty(context, writer))
                return .again
            }
        }
    }
}
