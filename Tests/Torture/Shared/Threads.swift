import Glibc
import Synchronization
import TestSupport

/// Threads that do the same thing, each blocking as it likes.
final class Threads: Sendable {
    private struct State {
        var handles: [pthread_t] = []
        var failures: [any Error] = []
    }

    private let state = Mutex(State())

    private init() {}

    /// What one thread is to do; handed through `pthread_create`'s pointer.
    private final class Errand: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts `count` threads, which are told their numbers from 0 on.
    static func start(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws
        -> Threads
    {
        let threads = Threads()
        for index in 0..<count {
            let errand = Errand {
                do {
                    try body(index)
                } catch {
                    threads.state.withLock { $0.failures.append(error) }
                }
            }
            try threads.spawn(errand)
        }
        return threads
    }

    private func spawn(_ errand: Errand) throws {
        var handle = pthread_t()
        // Taken back exactly once, by the thread itself.
        let pointer = Unmanaged.passRetained(errand).toOpaque()
        // The structure's own initializer is another C module's as often as Glibc's, depending on
        // which was imported first; this makes do without it.
        let code = withUnsafeTemporaryAllocation(of: pthread_attr_t.self, capacity: 1) { memory in
            guard let attributes = memory.baseAddress else { return ENOMEM }
            pthread_attr_init(attributes)
            defer { pthread_attr_destroy(attributes) }
            // Hundreds of threads need not reserve 8 MiB each.
            pthread_attr_setstacksize(attributes, 1 << 20)
            return pthread_create(
                &handle, attributes,
                { pointer in
                    guard let pointer else { return nil }
                    Unmanaged<Errand>.fromOpaque(pointer).takeRetainedValue().body()
                    return nil
                }, pointer)
        }
        guard code == 0 else {
            Unmanaged<Errand>.fromOpaque(pointer).release()
            throw TestFailure("no thread could be started: \(words(code))")
        }
        state.withLock { $0.handles.append(handle) }
    }

    /// Waits for all and throws the first failure.
    func join() throws {
        let handles = state.withLock { state in
            defer { state.handles = [] }
            return state.handles
        }
        for handle in handles { pthread_join(handle, nil) }
        if let failure = state.withLock({ $0.failures.first }) { throw failure }
    }

    /// Starts `count` threads and waits for all.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
        try start(count, body).join()
    }
}

/// A stop flag for several threads.
final class StopSign: Sendable {
    private let value = Atomic<Bool>(false)
    private let deadline: Int

    /// One that is put up, or goes up by itself after a while.
    init(afterMilliseconds milliseconds: Int? = nil) {
        deadline = milliseconds.map { Clock.milliseconds() + $0 } ?? .max
    }

    /// Whether to stop.
    var isUp: Bool {
        value.load(ordering: .relaxed) || deadline < .max && Clock.milliseconds() >= deadline
    }

    /// Tells all to stop.
    func putUp() { value.store(true, ordering: .relaxed) }
}

/// A number from each of several threads.
final class Counts: Sendable {
    private let values: Mutex<[Int]>

    init(_ count: Int) { values = Mutex(Array(repeating: 0, count: count)) }

    /// Replaces a thread's number.
    func set(_ index: Int, _ value: Int) { values.withLock { $0[index] = value } }

    /// Adds to a thread's number.
    func add(_ count: Int, at index: Int) { values.withLock { $0[index] += count } }

    /// The numbers of all threads.
    var all: [Int] { values.withLock { $0 } }

    /// All numbers together.
    var sum: Int { values.withLock { $0.reduce(0, +) } }
}
