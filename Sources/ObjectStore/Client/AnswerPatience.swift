import Synchronization

/// How long a server that has got all of a body may take to answer. It doubles after it took longer: the same body would
/// be sent again, as a whole, and in vain.
final class AnswerPatience: Sendable {
    private struct State {
        var milliseconds: Int
        /// The length of the body after which nothing came in time.
        var byteCount = 0
    }

    private let first: Int
    private let max: Int
    private let state: Mutex<State>

    init(_ limits: ObjectStoreLimits) {
        first = limits.stallMilliseconds
        max = Swift.max(first, limits.answerMillisecondsMax)
        state = Mutex(State(milliseconds: first))
    }

    var milliseconds: Int { state.withLock { $0.milliseconds } }

    /// No answer came within `milliseconds`.
    func noteSilence(after byteCount: Int, _ milliseconds: Int) {
        state.withLock { state in
            // Several bodies may be on their way.
            guard milliseconds >= state.milliseconds / 4 * 3 else { return }
            state = State(
                milliseconds: min(2 * state.milliseconds, max),
                byteCount: Swift.max(byteCount, state.byteCount))
        }
    }

    func noteAnswer(after byteCount: Int, _ milliseconds: Int) {
        state.withLock { state in
            guard byteCount >= state.byteCount, milliseconds < first else { return }
            state = State(milliseconds: first)
        }
    }
}
