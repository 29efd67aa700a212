import BlobStore
import Logging

/// The requests that took long, in the log: at most so many lines a second.
struct SlowRequestLog {
    /// Slow requests that are logged in a second. The next line says how many more there were.
    private static let linesPerSecondMax = 20

    private let log: Logger
    private var second = Instant.now
    private var lineCount = 0
    private var silentCount = 0

    init(_ log: Logger) { self.log = log }

    mutating func note(_ slow: AnsweredRequest) {
        let now = Instant.now
        if now >= second.after(milliseconds: 1_000) {
            if silentCount > 0 { log.warning("\(silentCount) more slow requests were not logged") }
            (second, lineCount, silentCount) = (now, 0, 0)
        }
        guard lineCount < Self.linesPerSecondMax else {
            silentCount += 1
            return
        }
        lineCount += 1
        log.warning(
            "Slow request",
            metadata: [
                "operation": "\(slow.operation.rawValue)", "status": "\(slow.status)",
                "duration_ms": "\(Milliseconds.text(slow.nanoseconds))", "target": "\(slow.target)",
            ])
    }
}

/// Logs what a thread meets again and again, such as a damaged payload that many clients ask for:
/// at most one line in a while, which says how many were left out.
struct RateLimitedLog {
    private let log: Logger
    private var next = Instant.now
    private var silentCount = 0

    /// How long there is no further line after one.
    static let pauseMilliseconds = 1_000

    init(_ log: Logger) {
        self.log = log
    }

    /// Logs `text`, or counts it when a line was logged just now.
    mutating func note(_ level: Logger.Level, _ text: @autoclosure () -> String) {
        let now = Instant.now
        guard now >= next else {
            silentCount += 1
            return
        }
        next = now.after(milliseconds: Self.pauseMilliseconds)
        let others = silentCount > 0 ? " (and \(silentCount) more)" : ""
        silentCount = 0
        log.log(level: level, "\(text())\(others)")
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
