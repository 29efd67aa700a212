import Synchronization

/// How long a server that has got all of a body may take to answer. It doubles after it took longer, for bodies of that
/// length: the same one would be sent again, as a whole, and in vain. Shorter ones are not waited for so long, since a
/// connection may be dead.
final class AnswerPatience: Sendable {
    private struct State {
        var milliseconds: Int
        /// The length of the shortest body after which nothing came in time.
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

    func milliseconds(for byteCount: Int) -> Int {
        state.withLock { milliseconds(for: byteCount, $0) }
    }

    private func milliseconds(for byteCount: Int, _ state: State) -> Int {
        byteCount >= state.byteCount ? state.milliseconds : first
    }

    /// No answer came within `milliseconds`.
    func noteSilence(after byteCount: Int, _ milliseconds: Int) {
        state.withLock { state in
            // Several bodies may be on their way.
            let given = self.milliseconds(for: byteCount, state)
            guard milliseconds >= given / 4 * 3 else { return }
            let shortest = state.byteCount == 0 ? byteCount : min(byteCount, state.byteCount)
            state = State(milliseconds: min(2 * given, max), byteCount: shortest)
        }
    }

    func noteAnswer(after byteCount: Int, _ milliseconds: Int) {
        state.withLock { state in
            guard byteCount >= state.byteCount, milliseconds < first else { return }
            state = State(milliseconds: first)
        }
    }
}
