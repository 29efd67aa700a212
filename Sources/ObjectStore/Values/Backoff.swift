/// How long to wait before the next attempt: twice as long after each failure, up to a ceiling, and between half of
/// that and all of it, so that clients that failed together do not return together.
package struct Backoff: Sendable {
    private let firstMilliseconds: Int
    private let millisecondsMax: Int
    /// Failed attempts so far.
    package private(set) var attemptCount: Int

    /// - Parameters:
    ///   - firstMilliseconds: the longest wait after the first failure.
    ///   - millisecondsMax: the longest wait after any, also where a server asks for more.
    ///   - attemptCount: failed attempts so far.
    package init(
        firstMilliseconds: Int = 50, millisecondsMax: Int = 5_000, attemptCount: Int = 0
    ) {
        self.firstMilliseconds = firstMilliseconds
        self.millisecondsMax = millisecondsMax
        self.attemptCount = attemptCount
    }

    /// Counts a failed attempt.
    ///
    /// - Parameter retryAfterMilliseconds: what the server asked for; 0: nothing. It is waited for at least.
    /// - Returns: the wait, in milliseconds.
    package mutating func next(retryAfterMilliseconds: Int = 0) -> Int {
        let doubled = firstMilliseconds << min(max(attemptCount, 0), 20)
        attemptCount += 1
        let ceiling = max(min(doubled, millisecondsMax), 0)
        let asked = min(retryAfterMilliseconds, millisecondsMax)
        return max(Int.random(in: ceiling / 2...ceiling), asked)
    }

    /// An attempt succeeded: the next failure is the first one.
    package mutating func reset() { attemptCount = 0 }
}

extension Backoff {
    /// That of a bucket's clients.
    init(_ limits: ObjectStoreLimits) {
        self.init(
            firstMilliseconds: limits.backoffMilliseconds,
            millisecondsMax: limits.backoffMillisecondsMax)
    }
}
