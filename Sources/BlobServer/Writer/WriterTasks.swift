import BlobStore
import Synchronization

/// What another thread has the writer do with the store, between two batches.
final class WriterTask: Sendable {
    private let body: @Sendable (BlobStore) throws(StoreError) -> Void
    private let result = Mutex<Result<Void, StoreError>?>(nil)
    private let signal: WakeSignal

    init(_ body: @escaping @Sendable (BlobStore) throws(StoreError) -> Void) throws(SystemError) {
        self.body = body
        signal = try WakeSignal()
    }

    /// Runs it, on the writer's thread.
    ///
    /// - Returns: the error after which nothing may be synced again, if there was one.
    func run(_ store: BlobStore) -> StoreError? {
        do throws(StoreError) {
            try body(store)
            finish(.success(()))
        } catch {
            finish(.failure(error))
            if case .outcomeUnknown = error { return error }
        }
        return nil
    }

    /// Ends it without running it.
    func fail(_ error: StoreError) { finish(.failure(error)) }

    private func finish(_ outcome: Result<Void, StoreError>) {
        result.withLock { $0 = outcome }
        signal.notify()
    }

    /// Waits until it was run.
    func wait() throws(StoreError) {
        while true {
            if let outcome = result.withLock({ $0 }) { return try outcome.get() }
            signal.wait(milliseconds: -1)
        }
    }
}

extension WriterThread {
    /// Has the writer do something, and returns when it is done. Not from the writer's own thread.
    func perform(
        _ body: @escaping @Sendable (BlobStore) throws(StoreError) -> Void
    ) throws(StoreError) {
        let task: WriterTask
        do throws(SystemError) { task = try WriterTask(body) } catch {
            throw .io(operation: "\(error.call)", errno: error.code)
        }
        let isEnded = state.withLock { state in
            if !state.isEnded { state.tasks.append(task) }
            return state.isEnded
        }
        guard !isEnded else { throw .io(operation: "use the writer", errno: 0) }
        thread.wake()
        try task.wait()
    }

    /// The same for what has a result.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (BlobStore) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let result = TaskValue<Value>()
        try perform { (store) throws(StoreError) in
            let value = try body(store)
            result.value.withLock { $0 = value }
        }
        guard let value = result.value.withLock({ $0 }) else {
            preconditionFailure("the writer ran the task")
        }
        return value
    }
}

/// What a task came to.
private final class TaskValue<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
}
