import BlobProtocol

// The daemon itself.

extension DaemonCall where Answer == DaemonStatistics {
    /// The daemon's counters.
    public static var stats: Self { Self(.get, CallTarget("/v1/stats")) }
}

extension DaemonCall where Answer == ScrubReport {
    /// How far the daemon has read its store again.
    public static var scrub: Self { Self(.get, CallTarget("/v1/scrub")) }

    /// Has the daemon read all of its store again, at once and as fast as it can. It is answered
    /// when that has begun.
    public static var startScrub: Self { Self(.post, CallTarget("/v1/scrub")) }
}

extension DaemonCall where Answer == ReplicationReport {
    /// What the daemon is in its shard.
    public static var replication: Self { Self(.get, CallTarget("/v1/replication")) }

    /// Has the daemon take the lead of its shard. It is answered when the daemon leads.
    ///
    /// - Parameter isForced: whether the leader is not asked, because it is gone.
    public static func promote(isForced: Bool = false) -> Self {
        var target = CallTarget("/v1/replication")
        if isForced { target.add("force", "true") }
        return Self(.post, target)
    }
}

extension DaemonCall where Answer: Decodable & SendableMetatype {
    fileprivate init(_ method: CallMethod, _ target: CallTarget) {
        self.init(
            method, target,
            read: { (answer) throws(ClientError) in
                try decode(Answer.self, from: answer.body)
            })
    }
}
