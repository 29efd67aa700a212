import Logging

/// The requests that took long, in the log: at most so many lines a second.
struct SlowRequestLog {
    private let log: Logger
    private var second = Instant.now
    private var lineCount = 0
    private var silentCount = 0

    init(_ log: Logger) { self.log = log }

    mutating func note(_ slow: SlowRequest) {
        let now = Instant.now
        if now >= second.after(milliseconds: 1_000) {
            if silentCount > 0 { log.warning("\(silentCount) more slow requests were not logged") }
            (second, lineCount, silentCount) = (now, 0, 0)
        }
        guard lineCount < DaemonLimits.slowLinesPerSecondMax else {
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
