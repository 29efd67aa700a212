import CLinux
import Glibc

/// Ends what the start of a daemon asks of its bucket when SIGTERM or SIGINT comes: a first base may be waited
/// for, or read, for long, and nobody takes signals yet.
///
/// The signal stays pending. It has a thread until ``end()``.
final class StartWatch {
    private let access: ShardAccess
    private let thread: ServiceThread

    init(_ access: ShardAccess) throws(SystemError) {
        self.access = access
        let thread = try ServiceThread()
        self.thread = thread
        let number = clinux_end_signals()
        guard number >= 0 else { throw SystemError("signalfd") }
        try thread.start("blobd-start") {
            defer { close(number) }
            var entries = [
                pollfd(fd: number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: thread.signalNumber, events: Int16(POLLIN), revents: 0),
            ]
            while poll(&entries, 2, -1) < 0 && errno == EINTR {}
            if entries[0].revents != 0 { access.stop() }
        }
    }

    /// Watches no more. Called once.
    func end() { thread.close() }
}

/// A daemon was told to stop before it was ready.
struct StoppedAtStart: Error {}
