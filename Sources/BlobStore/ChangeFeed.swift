internal import Synchronization

/// An owner's changes as they come, page by page, without end.
///
/// ```swift
/// for try await page in store.changeFeed(of: "anna", from: .latest) {
///     for change in page.changes { print(change.kind, change.id) }
/// }
/// ```
public struct ChangeFeed: AsyncSequence, Sendable {
    /// Pages that have at least one change.
    public typealias Element = FeedPage
    /// What a read throws.
    public typealias Failure = StoreError

    fileprivate let store: BlobStore
    fileprivate let owner: String
    fileprivate let start: FeedStart
    fileprivate let limit: Int
    fileprivate let filter: RecordFilter

    /// Begins at the sequence's start. Several iterators know nothing of one another.
    public func makeAsyncIterator() -> Iterator {
        Iterator(feed: self, start: start)
    }

    /// Where a reader is.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        fileprivate let feed: ChangeFeed
        fileprivate var start: FeedStart

        /// The next page that has a change, waiting for one where there is none.
        ///
        /// - Returns: nil when the task was cancelled.
        /// - Throws: ``StoreError/resync``; ``StoreError/tooManyWatchers(limit:of:)``; what a
        ///   read throws.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(StoreError) -> FeedPage? {
            while !Task.isCancelled {
                let page = try look()
                start = .after(page.next)
                if !page.changes.isEmpty { return page }
                if page.hasMore { continue }
                let signal = FeedSignal()
                let registration = try feed.store.feedWatch.register(
                    Array(feed.owner.utf8), after: page.revision
                ) { signal.notify() }
                guard let registration else { continue }
                await withTaskCancellationHandler {
                    await signal.wait()
                } onCancel: {
                    signal.notify()
                }
                registration.cancel()
            }
            return nil
        }

        private func look() throws(StoreError) -> FeedPage {
            try feed.store.changes(
                of: feed.owner, from: start, limit: feed.limit, matching: feed.filter)
        }
    }
}

extension BlobStore {
    /// Every change of an owner's notifications, as it is committed by this process, until the task that reads it
    /// ends or it throws ``StoreError/resync``. `.beginning` first tells all that exists.
    public func changeFeed(
        of owner: String, from start: FeedStart, limit: Int = 100,
        matching filter: RecordFilter = RecordFilter()
    ) -> ChangeFeed {
        ChangeFeed(store: self, owner: owner, start: start, limit: limit, filter: filter)
    }
}

/// Something one task waits for and any thread gives, once.
private final class FeedSignal: Sendable {
    private enum State {
        case nothing
        case given
        case awaited(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.nothing)

    func wait() async {
        await withCheckedContinuation { continuation in
            let isGiven = state.withLock { state in
                if case .given = state { return true }
                state = .awaited(continuation)
                return false
            }
            if isGiven { continuation.resume() }
        }
    }

    func notify() {
        let continuation: CheckedContinuation<Void, Never>? = state.withLock { state in
            defer { state = .given }
            guard case .awaited(let continuation) = state else { return nil }
            return continuation
        }
        continuation?.resume()
    }
}
