/// The token that tells a push service who sends. It is made when it is first needed, once for all
/// pushes that wait for it, and again when its lifetime is over or the service refuses it.
actor BearerToken {
    typealias Made = (text: String, lifetime: Duration)

    private let make: @Sendable () async throws -> Made
    private var current: (text: String, end: ContinuousClock.Instant)?
    private var making: Task<String, any Error>?

    init(make: @escaping @Sendable () async throws -> Made) {
        self.make = make
    }

    /// Throws what making a token throws; the next call tries again.
    func text() async throws -> String {
        if let current, current.end > .now { return current.text }
        let task = making ?? Task { try await renew() }
        making = task
        return try await task.value
    }

    /// The service refused this token. Of many pushes that were refused, the first replaces it.
    func discard(_ text: String) {
        if current?.text == text { current = nil }
    }

    private func renew() async throws -> String {
        defer { making = nil }
        let made = try await make()
        current = (made.text, .now + made.lifetime)
        return made.text
    }
}
