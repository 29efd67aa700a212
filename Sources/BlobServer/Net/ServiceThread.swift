import CLinux
import Glibc
import Synchronization

/// A thread of the daemon, or several with the same work: starts, wakes, closes and joins them. The body returns when
/// ``isClosing`` is true and it has finished what it began. It handles its own errors.
final class ServiceThread: Sendable {
    private let signal: WakeSignal
    private let closing = Atomic(false)
    private let runningCount = Atomic(0)
    private let handles = Mutex<[pthread_t]>([])

    private final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    init() throws(SystemError) { signal = try WakeSignal() }

    /// `name`, of at most 15 bytes, appears in `top -H`.
    func start(
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
    var isRunning: Bool { runningCount.load(ordering: .acquiring) > 0 }

    var isClosing: Bool { closing.load(ordering: .acquiring) }

    var signalNumber: Int32 { signal.number }

    /// Wakes one of the threads, or ends its next wait at once.
    func wake() { signal.notify() }

    /// Waits until woken, for at most `milliseconds`; negative: no limit. For the thread itself.
    func wait(milliseconds: Int) { signal.wait(milliseconds: milliseconds) }

    func stop() {
        closing.store(true, ordering: .releasing)
        wake()
    }

    func join() {
        let started = handles.withLock { handles in
            defer { handles = [] }
            return handles
        }
        for handle in started { pthread_join(handle, nil) }
    }

    func close() {
        stop()
        join()
    }
}
