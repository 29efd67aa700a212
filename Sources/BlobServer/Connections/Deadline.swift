import BlobStore

/// What a connection waits for, and since when.
struct Deadline {
    /// How long input is discarded after the last answer, so that the peer can read it.
    static let lingerMilliseconds = 2_000
    /// In bytes. Many clients send the whole of a body that is too long before they read the answer.
    static let lingerByteCountMax = 1 << 30
    /// The most that one kernel buffer of a socket holds, and so the granularity of a reader's progress: 36,544 bytes
    /// if copied (Linux 6.18), one chunk if linked.
    static let kernelBufferByteCount = 65_536

    enum Kind: Equatable {
        case idle
        /// The rest of a request's head.
        case head
        case body
        case answer
        /// Until the client hangs up. The daemon has ended its side.
        case linger
        /// The daemon itself: memory, the writer. Without a limit, since the client is not to blame.
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

    /// Whether progress is measured in bytes.
    var isTransfer: Bool { kind == .body || kind == .answer }

    mutating func restart(now: Instant) {
        since = now
    }

    /// Whether the time is up. A body or an answer may take any time, as long as each window of time moves bytes at the
    /// minimum rate.
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
            // Floating point: with large settings, a product of integers could overflow.
            let due = Double(limits.rateMin) * Double(waited) / 1_000
            guard due > 0 else { return false }
            // The kernel reports only whole buffers as read, so one more may be half read.
            let unseen = kind == .answer ? Double(Self.kernelBufferByteCount) : 0
            if due <= unseen, moved == 0 { return false }
            if Double(moved) < max(1, due - unseen) { return true }
            since = now
            self.progress = progress
            return false
        }
    }
}
