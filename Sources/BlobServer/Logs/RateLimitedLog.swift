import BlobStore
import Logging

/// Logs events that may repeat often, such as a damaged payload that many clients request: a limited number of lines
/// per second. The next line tells how many were omitted.
struct RateLimitedLog {
    private let log: Logger
    private let linesPerSecondMax: Int
    private var second = Instant(nanoseconds: 0)
    private var lineCount = 0
    private var silentCount = 0

    init(_ log: Logger, linesPerSecondMax: Int = 1) {
        self.log = log
        self.linesPerSecondMax = linesPerSecondMax
    }

    mutating func note(
        _ level: Logger.Level, _ text: @autoclosure () -> String,
        metadata: @autoclosure () -> Logger.Metadata? = nil
    ) {
        let now = Instant.now
        if now >= second.after(milliseconds: 1_000) { (second, lineCount) = (now, 0) }
        guard lineCount < linesPerSecondMax else {
            silentCount += 1
            return
        }
        lineCount += 1
        let others = silentCount > 0 ? " (and \(silentCount) more)" : ""
        silentCount = 0
        log.log(level: level, "\(text())\(others)", metadata: metadata())
    }

    /// Logs an error of the store that concerns the operator. Invalid input does not, and the writer reports a full
    /// disk.
    mutating func note(_ error: StoreError) {
        switch error {
        case .corrupt, .io, .readersFull, .cannotOpen: note(.error, "\(error)")
        default: break
        }
    }
}
