/// What a client is being waited for, and since when.
struct Deadline {
    /// How long the input of a closed connection is still discarded, so that the peer can read the last answer.
    static let lingerMilliseconds = 2_000
    /// Input that is discarded meanwhile, in bytes: more than most bodies that are refused for their size. Many clients
    /// send the whole body before they read, and never see the answer if they cannot.
    static let lingerByteCountMax = 1 << 30
    /// The most that one kernel buffer of a socket holds, by which a reader's progress is known: 36,544 bytes where they
    /// were copied (Linux 6.18), one chunk where they were linked.
    static let kernelBufferByteCount = 65_536

    enum Kind: Equatable {
        /// The next request.
        case idle
        /// The rest of a request's head.
        case head
        /// A body, from the client.
        case body
        /// The client reads an answer.
        case answer
        /// The client hangs up, after the daemon has ended its side.
        case linger
        /// The daemon itself: memory, the writer. The client is not to blame, so there is no limit.
        case ours
    }

    private(set) var kind = Kind.idle
    private var since: Instant
    private var progress = 0

    init(now: Instant) {
        since = now
    }

    /// Waits for `kind` from now on. Nothing changes if it is waited for already.
    mutating func wait(for kind: Kind, now: Instant, progress: Int) {
        guard kind != self.kind else { return }
        self.kind = kind
        since = now
        self.progress = progress
    }

    /// Whether the time depends on the bytes that move.
    var isTransfer: Bool { kind == .body || kind == .answer }

    /// The time begins again: a request was answered.
    mutating func restart(now: Instant) {
        since = now
    }

    /// Whether the time is over.
    ///
    /// A body or an answer may take any time, but in each window of time it must move at the minimum
    /// rate.
    ///
    /// - Parameter progress: the bytes that have moved since the connection began.
    mutating func isOver(_ now: Instant, _ limits: DaemonLimits, progress: Int) -> Bool {
        let waited = now.milliseconds(since: since)
        switch kind {
        case .ours: return false
        case .idle: return waited >= limits.idleMilliseconds
        case .head: return waited >= limits.headMilliseconds
        case .linger: return waited >= Self.lingerMilliseconds
        case .body, .answer:
            guard waited >= limits.rateWindowMilliseconds else { return false }
            let moved = progress - self.progress
            // As floating point: with large settings, the product of integers could overflow.
            let due = Double(limits.rateMin) * Double(waited) / 1_000
            guard due > 0 else { return false }
            // The kernel reports whole buffers that the peer has read. One of them may be half read, so
            // a reader is judged when it should have finished one.
            let unseen = kind == .answer ? Double(Self.kernelBufferByteCount) : 0
            if due <= unseen, moved == 0 { return false }
            if Double(moved) < max(1, due - unseen) { return true }
            since = now
            self.progress = progress
            return false
        }
    }
}
