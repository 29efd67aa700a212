import Synchronization
import TestSupport
import Testing

@testable import ObjectStore

/// A bucket that fails is asked by one client at a time.
@Suite struct CircuitBreakerTests {
    private static let failure = ObjectStoreError(.unavailable, "it fails")
    private static let hour = 3_600_000

    /// No pause of these ends by itself once it is as long as the bucket may ask for.
    private static var limits: ObjectStoreLimits {
        var limits = ObjectStoreLimits()
        limits.backoffMilliseconds = 1
        limits.backoffMillisecondsMax = hour
        return limits
    }

    private func permit(_ breaker: CircuitBreaker) throws -> CircuitBreaker.Permit {
        guard case .ask(let permit) = breaker.turn(StopSignal()) else {
            throw TestFailure("held back")
        }
        return permit
    }

    @Test("Of many that wait one asks, and its failure is everyone's")
    func oneTrial() throws {
        let breaker = CircuitBreaker(Self.limits)
        breaker.fail(try permit(breaker), Self.failure, retryAfterMilliseconds: 0)
        let stop = StopSignal()
        let asked = Atomic(0)
        let threads = (0..<16).map { _ in
            ClientThread {
                guard case .ask(let permit) = breaker.turn(stop) else { return }
                asked.wrappingAdd(1, ordering: .relaxed)
                breaker.fail(permit, Self.failure, retryAfterMilliseconds: Self.hour)
                // Who comes only now would wait an hour.
                stop.stop()
            }
        }
        for thread in threads { thread?.join() }
        #expect(asked.load(ordering: .relaxed) == 1)
    }

    @Test("Failures of requests that were on their way together are one, and old ones are none")
    func oldFailures() throws {
        let breaker = CircuitBreaker(Self.limits)
        let (first, second) = (try permit(breaker), try permit(breaker))
        breaker.fail(first, Self.failure, retryAfterMilliseconds: 0)
        breaker.fail(second, Self.failure, retryAfterMilliseconds: Self.hour)
        let trial = try permit(breaker)
        breaker.leave(trial)
        breaker.succeed(try permit(breaker))
        breaker.fail(trial, Self.failure, retryAfterMilliseconds: Self.hour)
        _ = try permit(breaker)
    }

    @Test("Who may not delete can still put")
    func operations() throws {
        var limits = quickLimits
        limits.backoffMilliseconds = Self.hour
        limits.backoffMillisecondsMax = Self.hour
        let scene = try Scene(limits: limits) { request in
            request.method == "DELETE" ? [.error(403, "AccessDenied")] : [.stored]
        }
        #expect(kind(try scene.client.delete("name")) == .denied)
        try scene.put()
        #expect(try scene.create() == .created)
    }
}
