import BlobStore
import Logging

/// Whether a publish could be stored now, for probes and the log.
struct StoreReadiness {
    /// How long a result is reused. A publish that is refused for lack of room ends that.
    private static let milliseconds = 1_000

    private let log: Logger
    private var isFull = false
    private var last: (result: ChangeResult, end: Instant)?
    /// The most stored bytes of a publish that a quota refused, although the publish alone would fit into it.
    private var refusedByteCount = 1
    private var quotaLog: RateLimitedLog

    init(_ log: Logger) {
        self.log = log
        quotaLog = RateLimitedLog(log)
    }

    /// If nothing may be synced again, sets `failure` to the error that caused it.
    mutating func check(_ store: BlobStore, _ failure: inout StoreError?) -> ChangeResult {
        let now = Instant.now
        if let last, now < last.end { return last.result }
        var result = ChangeResult.writable
        do throws(StoreError) {
            try store.checkWritable(byteCount: refusedByteCount)
            refusedByteCount = 1
        } catch {
            if case .outcomeUnknown = error { failure = error }
            result = .failed(error)
        }
        last = (result, now.after(milliseconds: Self.milliseconds))
        return result
    }

    mutating func note(_ excess: QuotaExcess) {
        guard !excess.setting.isOfOwner else { return }
        last = nil
        if excess.setting == .byteCountMax, excess.growth <= excess.limit {
            refusedByteCount = max(refusedByteCount, excess.growth)
        }
        quotaLog.note(
            .warning, "Publishes are refused: \(excess); reads, deletes and expiry continue")
    }

    /// Logs one line when the store becomes full, and one when it no longer is.
    mutating func noteFull(_ isFull: Bool) {
        if isFull { last = nil }
        guard isFull != self.isFull else { return }
        self.isFull = isFull
        if isFull {
            log.error("No space: publishes are refused; reads, deletes and expiry continue")
        } else {
            log.notice("Space is available again: publishes are accepted")
        }
    }
}
