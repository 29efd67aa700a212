import CLinux
import Glibc
import Synchronization

/// Ends all requests and waits of the clients that have it, immediately and permanently.
package final class StopSignal: Sendable {
    private let flag = Atomic(false)
    /// Readable from the stop on. -1 where there was no descriptor: then waits are cut into short ones.
    let descriptor: CInt

    /// The longest single wait without a descriptor.
    static let sliceMilliseconds = 100

    package init() {
        descriptor = clinux_eventfd()
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    package var isStopped: Bool { flag.load(ordering: .acquiring) }

    package func stop() {
        flag.store(true, ordering: .releasing)
        var one: UInt64 = 1
        // An eventfd takes eight bytes or nothing; it is never read, so that all who wait see it.
        if descriptor >= 0 { _ = write(descriptor, &one, 8) }
    }

    package func wait(milliseconds: Int) -> Bool {
        let end = MonotonicClock.milliseconds() + milliseconds
        while !isStopped {
            let left = end - MonotonicClock.milliseconds()
            if left <= 0 { return false }
            var entry = pollfd(fd: descriptor, events: CShort(POLLIN), revents: 0)
            _ = poll(&entry, 1, CInt(pollMilliseconds(left)))
        }
        return true
    }

    func pollMilliseconds(_ milliseconds: Int) -> Int {
        min(milliseconds, descriptor < 0 ? Self.sliceMilliseconds : 60_000)
    }
}

/// Time since the machine's start. Steps of the wall clock do not change it.
package enum MonotonicClock {
    package static func microseconds() -> Int { Int(clinux_monotonic_ns() / 1_000) }
    package static func milliseconds() -> Int { microseconds() / 1_000 }
}

/// How long to wait before the next attempt: twice as long after each failure, up to a ceiling, and between half of
/// that and all of it, so that clients that failed together do not return together.
package struct Backoff: Sendable {
    private let firstMilliseconds: Int
    private let millisecondsMax: Int
    package private(set) var attemptCount: Int

    /// - Parameter millisecondsMax: the longest wait after any, also where a server asks for more.
    package init(
        firstMilliseconds: Int = 50, millisecondsMax: Int = 5_000, attemptCount: Int = 0
    ) {
        self.firstMilliseconds = firstMilliseconds
        self.millisecondsMax = millisecondsMax
        self.attemptCount = attemptCount
    }

    /// Counts a failed attempt.
    ///
    /// - Parameter retryAfterMilliseconds: what the server asked for; 0: nothing. It is waited for at least.
    /// - Returns: the wait, in milliseconds.
    package mutating func next(retryAfterMilliseconds: Int = 0) -> Int {
        let doubled = firstMilliseconds << min(max(attemptCount, 0), 20)
        attemptCount += 1
        let ceiling = max(min(doubled, millisecondsMax), 0)
        let asked = min(retryAfterMilliseconds, millisecondsMax)
        return max(Int.random(in: ceiling / 2...ceiling), asked)
    }

    package mutating func reset() { attemptCount = 0 }
}

extension Backoff {
    init(_ limits: ObjectStoreLimits) {
        self.init(
            firstMilliseconds: limits.backoffMilliseconds,
            millisecondsMax: limits.backoffMillisecondsMax)
    }
}

/// A thread (pthread_create) for a client of its own, joined by the one that started it.
package struct ClientThread {
    private let handle: pthread_t

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    package init?(_ run: @escaping @Sendable () -> Void) {
        var handle = pthread_t()
        let body = Unmanaged.passRetained(Body(run))
        let code = pthread_create(
            &handle, nil,
            { context in
                // Balances passRetained: this thread takes the closure over.
                if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, body.toOpaque())
        guard code == 0 else {
            body.release()
            return nil
        }
        self.handle = handle
    }

    package func join() { pthread_join(handle, nil) }
}
