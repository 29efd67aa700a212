import BlobStore
import Logging

/// Logs what a thread meets again and again, such as a damaged payload that many clients ask for: so many lines a
/// second, of which the next one says how many were left out.
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

    /// Logs an error of the store that an operator should know of. Bad input is none, and a full
    /// disk is the writer's to report.
    mutating func note(_ error: StoreError) {
        switch error {
        case .corrupt, .io, .readersFull, .cannotOpen: note(.error, "\(error)")
        default: break
        }
    }
}
