/// How long to wait before the next attempt: full jitter, so that clients that failed together do not come back together.
struct Backoff {
    private let limits: ObjectStoreLimits
    /// Attempts so far.
    private(set) var attemptCount = 0

    init(_ limits: ObjectStoreLimits) { self.limits = limits }

    /// Counts a failed attempt.
    ///
    /// - Parameter retryAfterMilliseconds: what the server asked for; 0: nothing. It is waited for at least, up to the limit.
    /// - Returns: the wait, or nil when no attempt is left.
    mutating func next(retryAfterMilliseconds: Int = 0) -> Int? {
        attemptCount += 1
        guard attemptCount < limits.attemptCountMax else { return nil }
        let doubled = limits.backoffMilliseconds << min(attemptCount - 1, 20)
        let ceiling = max(min(doubled, limits.backoffMillisecondsMax), 0)
        let asked = min(retryAfterMilliseconds, limits.backoffMillisecondsMax)
        return max(Int.random(in: 0...ceiling), asked)
    }
}
