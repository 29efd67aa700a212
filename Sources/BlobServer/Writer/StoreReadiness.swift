import BlobStore
import Logging

/// Whether a publish could be stored now, for probes and the log.
struct StoreReadiness {
    /// How long a result is reused. A publish that is refused for lack of room ends that.
    private static let milliseconds = 1_000

    private let log: Logger
    /// Whether a publish was refused for lack of room, and none as long has been found to fit since.
    private var isFull = false
    private var last: (result: ChangeResult, end: Instant)?
    /// What kept the store from being used at the last look: said once.
    private var fault = ""
    /// The most stored bytes of a publish that a quota refused, although the publish alone would fit into it.
    private var refusedByteCount = 1
    private var quotaLog: RateLimitedLog
    private var refusalLog: RateLimitedLog

    init(_ log: Logger) {
        self.log = log
        quotaLog = RateLimitedLog(log)
        refusalLog = RateLimitedLog(log)
    }

    /// If nothing may be synced again, sets `failure` to the error that caused it.
    mutating func check(_ store: BlobStore, _ failure: inout StoreError?) -> ChangeResult {
        let now = Instant.now
        if let last, now < last.end { return last.result }
        var result = ChangeResult.writable
        do throws(StoreError) {
            try store.checkWritable(byteCount: refusedByteCount)
            (refusedByteCount, fault) = (1, "")
            if isFull {
                isFull = false
                log.notice("Space is available again: publishes are accepted")
            }
        } catch {
            switch error {
            case .outcomeUnknown: failure = error
            case .io:
                if fault != "\(error)" { log.critical("The store cannot be used: \(error)") }
                fault = "\(error)"
            default: break
            }
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

    /// Notes a publish that was refused for lack of room. Logs one line when the store becomes full; ``check(_:_:)``
    /// logs one when it no longer is.
    mutating func noteFull(_ store: BlobStore, _ failure: inout StoreError?) {
        guard !isFull else { return }
        last = nil
        switch check(store, &failure) {
        case .writable:
            // It would not fit an empty store either.
            return refusalLog.note(
                .warning, "A publish was refused for lack of space; shorter ones are accepted")
        case .failed(.io): return
        default: break
        }
        isFull = true
        log.error("No space: publishes are refused; reads, deletes and expiry continue")
    }

    /// Notes a publish that was stored. On a store that is full for longer ones, it does not show that there is room.
    mutating func noteStored(_ store: BlobStore, _ failure: inout StoreError?) {
        if isFull { _ = check(store, &failure) }
    }
}
