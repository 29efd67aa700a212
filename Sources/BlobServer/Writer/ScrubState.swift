import BlobStore
import Synchronization

/// The state of scrubbing: reading the whole store again.
final class ScrubState: Sendable {
    /// For display.
    struct Progress: Sendable {
        /// When the current round began; nil: there is none.
        var beganAt: Timestamp?
        /// When the last complete round ended; nil: none has.
        var endedAt: Timestamp?
        /// Bytes read in the current round, or in the last one.
        var byteCount = 0
        /// Total bytes, approximately.
        var byteCountInAll = 0
        /// Recent bytes per second; 0: the scrub is waiting.
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

    /// Ends the thread after its current step. Its position is left for the writer.
    func close() { thread.close() }

    /// Begins a round at once, which waits for nothing. A round in progress continues without waiting.
    func request() {
        state.withLock {
            $0.isRequested = true
            // A client that asks now must not be told about the previous round.
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
