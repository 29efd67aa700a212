import CLinux
import Glibc

/// A thread of the daemon (pthread_create), joined by the thread that started it.
struct WorkerThread: Sendable {
    private let handle: pthread_t

    private final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts a thread that runs `body` and ends. Its name, of at most 15 bytes, is what `top -H`
    /// shows.
    init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        var handle = pthread_t()
        let start = Unmanaged.passRetained(
            Start {
                clinux_name_thread(name)
                body()
            })
        let code = pthread_create(
            &handle, nil,
            { context in
                // Balances passRetained: this thread takes the closure over.
                guard let context else { return nil }
                Unmanaged<Start>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            errno = code
            throw SystemError("pthread_create")
        }
        self.handle = handle
    }

    /// Waits until the thread has ended. Called once.
    func join() {
        pthread_join(handle, nil)
    }
}
