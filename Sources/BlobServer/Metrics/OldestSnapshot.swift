import BlobStore
import Synchronization

/// How long the oldest open snapshot of any process has kept freed pages from being used again. It is
/// known from looking now and then: LMDB knows which commit a snapshot sees, and not since when. One that
/// sees the last commit keeps none.
final class OldestSnapshot: Sendable {
    private struct State {
        var commit: UInt64?
        var since = Instant.now
    }

    private let state = Mutex(State())

    /// Looks. A snapshot that was not the oldest at the last look counts from now on.
    func look(in store: BlobStore) throws(StoreError) {
        let commit = try store.oldestSnapshot()
        let now = Instant.now
        state.withLock { state in
            guard state.commit != commit else { return }
            state.commit = commit
            state.since = now
        }
    }

    /// Milliseconds; 0 where none is open. Not less than is true by more than the pause between looks.
    func ageMilliseconds(in store: BlobStore) throws(StoreError) -> Int {
        try look(in: store)
        let now = Instant.now
        return state.withLock { state in
            state.commit == nil ? 0 : max(0, now.milliseconds(since: state.since))
        }
    }
}
