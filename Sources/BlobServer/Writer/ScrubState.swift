import BlobStore
import Synchronization

/// What is known of reading the store again.
final class ScrubState: Sendable {
    /// How far it is, for people.
    struct Progress: Sendable {
        /// When the present round began; nil: there is none.
        var beganAt: Timestamp?
        /// When the last whole round ended; nil: none has.
        var endedAt: Timestamp?
        /// Bytes that the present round, or the last one, has read.
        var byteCount = 0
        /// Bytes there are, about.
        var byteCountInAll = 0
        /// Bytes per second, lately; 0: it waits.
        var rate = 0
    }

    private struct State {
        var progress = Progress()
        var isRequested = false
        var position: ScrubPosition?
    }

    private let state = Mutex(State())
    let thread: ServiceThread

    init() throws(SystemError) { thread = try ServiceThread() }

    var progress: Progress { state.withLock { $0.progress } }

    /// Ends the thread after the step that it is in. Its position is left for the writer.
    func close() { thread.close() }

    /// Begins a round at once, which does not wait for anybody; one that is under way continues so.
    func request() {
        state.withLock {
            $0.isRequested = true
            // Whoever asks now must not be told of the last round.
            if $0.progress.beganAt == nil { $0.progress.beganAt = .now }
        }
        thread.wake()
    }

    var isRequested: Bool { state.withLock { $0.isRequested } }

    func note(_ progress: Progress) {
        state.withLock { state in
            state.progress = progress
            if state.isRequested, progress.beganAt == nil { state.progress.beganAt = .now }
        }
    }

    func endRequest() { state.withLock { $0.isRequested = false } }

    func write(_ position: ScrubPosition) { state.withLock { $0.position = position } }

    func takePosition() -> ScrubPosition? { state.withLock { $0.position.take() } }
}
