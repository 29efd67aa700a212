internal import CLinux
internal import Glibc
internal import Synchronization

/// A thread, or several with the same work: starts, wakes, closes and joins them. The body returns when
/// ``isClosing`` is true and it has finished what it began. It handles its own errors.
package final class ServiceThread: Sendable {
    private let signal: WakeSignal
    private let closing = Atomic(false)
    private let runningCount = Atomic(0)
    private let handles = Mutex<[pthread_t]>([])

    private final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    package init() throws(SystemError) { signal = try WakeSignal() }

    /// `name`, of at most 15 bytes, appears in `top -H`.
    package func start(
        _ name: String, _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        var handle = pthread_t()
        runningCount.add(1, ordering: .relaxed)
        let start = Unmanaged.passRetained(
            Start { [self] in
                clinux_name_thread(name)
                body()
                runningCount.subtract(1, ordering: .releasing)
            })
        let code = pthread_create(
            &handle, nil,
            { context in
                // Balances passRetained: this thread takes over the closure.
                guard let context else { return nil }
                Unmanaged<Start>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            runningCount.subtract(1, ordering: .relaxed)
            errno = code
            throw SystemError("pthread_create")
        }
        let started = handle
        handles.withLock { $0.append(started) }
    }

    /// Whether a body is still running.
    package var isRunning: Bool { runningCount.load(ordering: .acquiring) > 0 }

    package var isClosing: Bool { closing.load(ordering: .acquiring) }

    package var signalNumber: Int32 { signal.number }

    /// Wakes one of the threads, or ends its next wait at once.
    package func wake() { signal.notify() }

    /// Waits until woken, for at most `milliseconds`; negative: no limit. For the thread itself.
    package func wait(milliseconds: Int) { signal.wait(milliseconds: milliseconds) }

    package func stop() {
        closing.store(true, ordering: .releasing)
        wake()
    }

    package func join() {
        let started = handles.withLock { handles in
            defer { handles = [] }
            return handles
        }
        for handle in started { pthread_join(handle, nil) }
    }

    package func close() {
        stop()
        join()
    }
}
