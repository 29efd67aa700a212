/// Who waits for which owner's changes. Only commits of this process are heard.
public final class FeedWatch: Sendable {
    /// How many may wait at once.
    public let watcherCountMax: Int

    init(watcherCountMax: Int) { self.watcherCountMax = watcherCountMax }

    /// Calls `wake` once, on the committing thread, after the first commit behind `revision` that
    /// concerns `owner`. It must be quick and must not call the store.
    ///
    /// - Parameters:
    ///   - owner: as UTF-8.
    ///   - revision: of the snapshot in which there was nothing more to read.
    /// - Returns: what ends the waiting when it is let go of; nil when there was such a commit
    ///   already, or may have been: look again.
    /// - Throws: ``StoreError/tooManyWatchers(limit:)``.
    public func register(
        _ owner: [UInt8], behind revision: UInt64, _ wake: @escaping @Sendable () -> Void
    ) throws(StoreError) -> FeedRegistration? { throw .notBuilt }

    /// Wakes who waits for one of `owners`. After the commit that made `revision` the last one.
    func notify(_ owners: [String], at revision: UInt64) {}

    /// How many wait.
    public var count: Int { 0 }
}

/// A wait. It ends when this is let go of.
public final class FeedRegistration: Sendable {
    init() {}
    /// Ends it now. Nothing happens when it was woken.
    public func cancel() {}
}
