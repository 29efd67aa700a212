import CLinux
import Glibc
import Synchronization

/// Ends all requests and waits of the clients that have it, at once and for ever.
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

    /// Stops them. May be called from any thread, and again.
    package func stop() {
        flag.store(true, ordering: .releasing)
        var one: UInt64 = 1
        // An eventfd takes eight bytes or nothing; it is never read, so that all who wait see it.
        if descriptor >= 0 { _ = write(descriptor, &one, 8) }
    }

    /// Waits.
    ///
    /// - Returns: whether the stop came.
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

    /// How long one call may wait of a longer wait.
    func pollMilliseconds(_ milliseconds: Int) -> Int {
        min(milliseconds, descriptor < 0 ? Self.sliceMilliseconds : 60_000)
    }
}

/// Time since the machine's start. Steps of the wall clock do not change it.
package enum MonotonicClock {
    package static func microseconds() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
    }

    package static func milliseconds() -> Int { microseconds() / 1_000 }
}
