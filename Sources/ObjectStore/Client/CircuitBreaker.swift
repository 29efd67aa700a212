import Synchronization

/// Holds the clients of a bucket back together while it fails.
///
/// After a failure one client asks at a time, each after a pause that doubles, and its outcome counts for all that
/// wait, as if each had asked. So a bucket that is away or answers rubbish is asked a few times a second at first
/// and every few seconds later, however many threads want something of it.
final class CircuitBreaker: Sendable {
    enum Turn {
        /// To ask, and to tell ``succeed(_:)``, ``fail(_:_:retryAfterMilliseconds:)`` or ``leave(_:)`` about it.
        case ask(Permit)
        case failed(ObjectStoreError)
        case stopped
    }

    struct Permit {
        fileprivate let period: Int
    }

    private struct State {
        var backoff: Backoff
        /// Counts failures of trials and their ends: what began in an earlier period says nothing new.
        var period = 0
        var failure: ObjectStoreError?
        var trialAt = 0
        var isTrying = false
    }

    private let state: Mutex<State>
    private static let lookMilliseconds = 20

    init(_ limits: ObjectStoreLimits) { state = Mutex(State(backoff: Backoff(limits))) }

    func turn(_ stop: StopSignal) -> Turn {
        let begun = state.withLock { $0.period }
        while !stop.isStopped {
            let now = MonotonicClock.milliseconds()
            let (turn, wait) = state.withLock { state -> (Turn?, Int) in
                guard let failure = state.failure else {
                    return (.ask(Permit(period: state.period)), 0)
                }
                guard state.period == begun else { return (.failed(failure), 0) }
                guard !state.isTrying, now >= state.trialAt else {
                    return (nil, state.isTrying ? Self.lookMilliseconds : state.trialAt - now)
                }
                state.isTrying = true
                return (.ask(Permit(period: state.period)), 0)
            }
            if let turn { return turn }
            // Another trial may begin, and fail, before this one's time has come.
            _ = stop.wait(milliseconds: wait)
        }
        return .stopped
    }

    /// The bucket did what it was asked for, or said why it does not: nobody is held back.
    func succeed(_ permit: Permit) {
        state.withLock { state in
            guard permit.period == state.period, state.failure != nil else { return }
            state.period += 1
            state.failure = nil
            state.isTrying = false
            state.backoff.reset()
        }
    }

    func fail(_ permit: Permit, _ failure: ObjectStoreError, retryAfterMilliseconds: Int) {
        state.withLock { state in
            guard permit.period == state.period else { return }
            let pause = state.backoff.next(retryAfterMilliseconds: retryAfterMilliseconds)
            state.period += 1
            state.failure = failure
            state.isTrying = false
            state.trialAt = MonotonicClock.milliseconds() + pause
        }
    }

    /// The attempt was given up: it says nothing of the bucket.
    func leave(_ permit: Permit) {
        // A permit of a period in which the bucket fails is its trial's.
        state.withLock { state in
            if permit.period == state.period { state.isTrying = false }
        }
    }
}

/// One for each operation: credentials that may not delete can still put.
struct CircuitBreakers: Sendable {
    private let all: [ObjectOperation: CircuitBreaker]

    init(_ limits: ObjectStoreLimits) {
        let breakers = ObjectOperation.allCases.map { ($0, CircuitBreaker(limits)) }
        all = Dictionary(uniqueKeysWithValues: breakers)
    }

    subscript(operation: ObjectOperation) -> CircuitBreaker {
        guard let breaker = all[operation] else { preconditionFailure("one for each operation") }
        return breaker
    }
}
