import Dispatch
import Glibc

/// SIGINT and SIGTERM of a command that has something left to say or to undo.
enum Interruption {
    /// Runs `body` with the signal's number on another thread at the first of them. A second one ends the process at
    /// once.
    ///
    /// Call it before there is another thread, so that none can be interrupted.
    static func handle(_ body: @escaping @Sendable (CInt) -> Void) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let awaited = signals
        DispatchQueue(label: "blobd.signals").async {
            var signals = awaited
            var number: CInt = 0
            while sigwait(&signals, &number) != 0 {}
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            body(number)
            // The thread is kept, since a second signal needs one that takes it.
            while true { pause() }
        }
    }

    /// What a shell reports of a command that this signal killed.
    static func exitCode(of signal: CInt) -> CInt { 128 + signal }
}
