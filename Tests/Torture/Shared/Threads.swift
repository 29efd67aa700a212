import Dispatch
import Synchronization
import TestSupport

/// Threads that do the same thing, each blocking as it likes.
final class Threads: Sendable {
    private let running = DispatchGroup()
    private let failures = Mutex<[any Error]>([])

    private init() {}

    /// Starts `count` threads, which are told their numbers from 0 on.
    static func start(
        _ count: Int, _ body: @escaping @Sendable (Int) throws -> Void
    ) throws -> Threads {
        let threads = Threads()
        for index in 0..<count {
            threads.running.enter()
            startThread {
                do {
                    try body(index)
                } catch {
                    threads.failures.withLock { $0.append(error) }
                }
                threads.running.leave()
            }
        }
        return threads
    }

    /// Waits for all and throws the first failure.
    func join() throws {
        running.wait()
        if let failure = failures.withLock({ $0.first }) { throw failure }
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
