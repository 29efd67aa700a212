import BlobStore

/// The memory for answers that clients have not read yet: one worker's share of `--answer-memory`. Payloads take none.
/// A connection with unread answers is not read, so it holds at most one batch and one document. The memory held by all
/// connections has three levels:
///
/// * **Short**, from half of the share on: answers go one by one, pages are short, and connections that have read
///   nothing for a second are closed, longest first.
/// * **Used up**: documents are answered with 503, streams wait. Payloads and changes continue.
/// * **Exceeded**: a connection that would hold more is closed.
final class AnswerMemory {
    /// How much more than its share a worker may hold, in bytes: more than one answer takes.
    static let excessMax = 2 << 20
    /// Bytes of records in one page while memory is short: what a socket takes at once.
    static let shortPageByteCountMax = 32 << 10
    /// From this many bytes on, free memory is returned to the system, at most once per pause.
    static let trimmedByteCountMin = 1 << 20
    static let trimPauseMilliseconds = 5_000

    @exclusivity(unchecked) private(set) var byteCountMax: Int
    private let counters: WorkerCounters
    @exclusivity(unchecked) private(set) var byteCountHeld = 0
    /// Since memory was last returned to the system.
    private var peak = 0
    private var added = 0
    private var trimmedAt: Instant?

    init(byteCountMax: Int, workerCount: Int, counters: WorkerCounters) {
        self.byteCountMax = Self.share(byteCountMax, workerCount)
        self.counters = counters
    }

    func change(byteCountMax: Int, workerCount: Int) {
        self.byteCountMax = Self.share(byteCountMax, workerCount)
    }

    private static func share(_ byteCountMax: Int, _ workerCount: Int) -> Int {
        max(1, byteCountMax / max(1, workerCount))
    }

    @inline(__always)
    var isShort: Bool { byteCountHeld >= byteCountMax / 2 }
    var isUsedUp: Bool { byteCountHeld >= byteCountMax }
    var isExceeded: Bool { byteCountHeld >= byteCountMax + Self.excessMax }

    var pageByteCountMax: Int {
        isShort ? Self.shortPageByteCountMax : StoreLimits.pageByteCountMax
    }

    func change(by difference: Int) {
        byteCountHeld += difference
        peak = max(peak, byteCountHeld)
        added += max(0, difference)
        counters.answerMemory.add(difference)
    }

    /// Whether so much memory was held and released that it should be returned to the system.
    func takeShouldTrim(asOf now: Instant) -> Bool {
        guard added >= Self.trimmedByteCountMin, byteCountHeld <= peak / 4 else {
            return false
        }
        if let trimmedAt, now.milliseconds(since: trimmedAt) < Self.trimPauseMilliseconds {
            return false
        }
        peak = byteCountHeld
        added = 0
        trimmedAt = now
        return true
    }
}
