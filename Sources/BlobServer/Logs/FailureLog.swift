import BlobStore
import Logging

/// Logs failures of work that is tried again and again, such as every second: each when it comes up, and then once
/// every ten minutes as long as it says the same, or every ten seconds if it says something else each time.
struct FailureLog {
    private static let repeatMilliseconds = 600_000
    private static let changedMilliseconds = 10_000

    private let log: Logger
    /// What was logged last of each kind of work.
    private var last: [String: (text: String, at: Instant)] = [:]

    init(_ log: Logger) { self.log = log }

    /// - Parameter work: what failed, one of a few texts. Only one failure of each is remembered.
    mutating func note(_ level: Logger.Level, of work: String, _ text: String) {
        let now = Instant.now
        if let last = last[work] {
            let pause =
                last.text == text ? Self.repeatMilliseconds : Self.changedMilliseconds
            guard now >= last.at.after(milliseconds: pause) else { return }
        }
        last[work] = (text, now)
        log.log(level: level, "\(text)")
    }
}
