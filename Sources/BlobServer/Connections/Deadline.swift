/// What a client is being waited for, and since when.
struct Deadline {
    /// How long the input of a closed connection is still discarded, so that the peer can read the last answer.
    static let lingerMilliseconds = 2_000
    /// Many clients send the whole of a body that is too long before they read the answer.
    static let lingerByteCountMax = 1 << 30
    /// The most that one kernel buffer of a socket holds, by which a reader's progress is known: 36,544 bytes where they
    /// were copied (Linux 6.18), one chunk where they were linked.
    static let kernelBufferByteCount = 65_536

    enum Kind: Equatable {
        case idle
        /// The rest of a request's head.
        case head
        case body
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

    mutating func wait(for kind: Kind, now: Instant, progress: Int) {
        guard kind != self.kind else { return }
        self.kind = kind
        since = now
        self.progress = progress
    }

    /// Whether the time depends on the bytes that move.
    var isTransfer: Bool { kind == .body || kind == .answer }

    mutating func restart(now: Instant) {
        since = now
    }

    /// Whether the time is over. A body or an answer may take any time, but in each window of time it must move at
    /// the minimum rate.
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
            // The kernel reports whole buffers that the peer has read, of which one may be half read.
            let unseen = kind == .answer ? Double(Self.kernelBufferByteCount) : 0
            if due <= unseen, moved == 0 { return false }
            if Double(moved) < max(1, due - unseen) { return true }
            since = now
            self.progress = progress
            return false
        }
    }
}
