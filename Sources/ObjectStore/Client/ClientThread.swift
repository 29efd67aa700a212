import Glibc

/// A thread (pthread_create) for a client of its own, joined by the one that started it.
package struct ClientThread {
    private let handle: pthread_t

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// nil: the system gives no thread.
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

    /// Waits until it has ended. Called once.
    package func join() { pthread_join(handle, nil) }
}
