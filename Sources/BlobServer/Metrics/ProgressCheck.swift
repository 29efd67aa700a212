import Synchronization

/// Tells whether a thread still comes around: it is asked for an answer, and gives it in its loop. It costs the
/// thread nothing while nobody asks.
final class ProgressCheck: Sendable {
    private let asked = Atomic<Int>(0)
    private let answered = Atomic<Int>(0)

    /// Asks. The thread has to be woken, too.
    func ask() { asked.add(1, ordering: .relaxed) }

    /// On the thread.
    func answer() { answered.store(asked.load(ordering: .relaxed), ordering: .relaxed) }

    /// Whether everything that was asked is answered.
    var isAnswered: Bool {
        answered.load(ordering: .relaxed) == asked.load(ordering: .relaxed)
    }
}
