internal import Synchronization

/// Whether replication gets on, for another thread: a count that grows with each step that succeeds, and while a step
/// moves more bytes than those that failed before it. What is sent again and again in vain is none.
package final class ReplicaProgress: Sendable {
    private struct State {
        var count: UInt64 = 0
        /// Bytes of the step that is under way, and those up to which such bytes were counted since the last success.
        var byteCount = 0
        var countedByteCount = 0
    }

    private let state = Mutex(State())

    package init() {}

    package var count: UInt64 { state.withLock { $0.count } }

    /// A request of the step that is under way has sent or received so many bytes more. Several threads may say so.
    package func noteMoved(_ byteCount: Int) {
        state.withLock { state in
            state.byteCount += byteCount
            let difference = state.byteCount - state.countedByteCount
            guard difference >= ReplicationLimits.progressByteCount else { return }
            state.countedByteCount = state.byteCount
            state.count += 1
        }
    }

    func noteStep(succeeded: Bool) {
        state.withLock { state in
            state.byteCount = 0
            guard succeeded else { return }
            state.countedByteCount = 0
            state.count += 1
        }
    }
}
