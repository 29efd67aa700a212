/// What a connection is given time for, and since when.
struct Deadline {
    /// What is waited for.
    enum Kind: Equatable {
        /// The next request.
        case idle
        /// The rest of a request's head.
        case head
        /// A body, from the client.
        case body
        /// The client's reading of an answer.
        case answer
        /// The client's hanging up, after it was told to.
        case linger
        /// Something of ours: memory, the writer. The client is not to blame, so there is no end.
        case ours
    }

    private(set) var kind = Kind.idle
    private var since: Instant
    private var progress = 0

    init(now: Instant) {
        since = now
    }

    /// Waits for `kind` from now on; nothing happens when it is waited for already. `progress` is
    /// what ``isOver(_:_:progress:)`` will be compared with.
    mutating func wait(for kind: Kind, now: Instant, progress: Int) {
        guard kind != self.kind else { return }
        self.kind = kind
        since = now
        self.progress = progress
    }

    /// Whether bytes are counted.
    var isTransfer: Bool { kind == .body || kind == .answer }

    /// Begins anew: a request was answered.
    mutating func restart(now: Instant) {
        since = now
    }

    /// Whether the time is over.
    ///
    /// A body or an answer has no end of its own, but in each window of time it must move at the
    /// least rate; `progress` is how many bytes have moved since the connection began.
    mutating func isOver(_ now: Instant, _ limits: DaemonLimits, progress: Int) -> Bool {
        let waited = now.milliseconds(since: since)
        switch kind {
        case .ours: return false
        case .idle: return waited >= limits.idleMilliseconds
        case .head: return waited >= limits.headMilliseconds
        case .linger: return waited >= DaemonLimits.lingerMilliseconds
        case .body, .answer:
            guard waited >= limits.rateWindowMilliseconds else { return false }
            let moved = progress - self.progress
            // As floating point: the product of rate and milliseconds could overflow for large
            // settings.
            let due = Double(limits.rateMin) * Double(waited) / 1_000
            guard due > 0 else { return false }
            // The kernel tells what the peer has read in whole buffers, and one of them may be half
            // read: a reader is not judged before he should have finished one.
            let unseen = kind == .answer ? Double(DaemonLimits.kernelBufferByteCount) : 0
            if due <= unseen, moved == 0 { return false }
            if Double(moved) < max(1, due - unseen) { return true }
            since = now
            self.progress = progress
            return false
        }
    }
}
