import BlobStore
import Logging
import Replication

/// Says that this daemon is alive while it leads, whatever its other threads wait for.
final class AliveThread: Sendable {
    private let context: ShardContext
    private let thread: ServiceThread

    private static let pauseMilliseconds = 500
    private static let failurePauseMilliseconds = 1_000

    init(_ context: ShardContext) throws(SystemError) {
        self.context = context
        thread = try ServiceThread()
        try thread.start("blobd-alive") { [self] in run() }
    }

    func close() { thread.close() }

    private func run() {
        let host = DaemonReplica(context)
        var writer = AliveWriter(context.store, host)
        var bucket: (any Bucket)?
        var timeout = BeatTimeout(host.settings)
        var failures = FailureLog(context.log)
        while !thread.isClosing {
            guard host.aliveEpoch != nil else {
                thread.wait(milliseconds: Self.pauseMilliseconds)
                continue
            }
            var pause = Self.failurePauseMilliseconds
            let begun = host.uptime
            do {
                let reached =
                    try bucket ?? context.access.makeQuickBucket(milliseconds: timeout.milliseconds)
                bucket = reached
                pause = try writer.step(on: reached)
                timeout.noteSuccess(after: Int(host.uptime - begun))
            } catch ReplicationError.stopped {
                // The daemon ends, and other threads take some time for that.
            } catch {
                // The next attempt takes another connection.
                bucket = nil
                timeout.noteFailure(after: Int(host.uptime - begun))
                failures.note(
                    .warning, of: "alive", "Cannot say that this leader is alive: \(error)")
            }
            // What it says of a new epoch does not wait for the next beat of the last.
            let epoch = host.aliveEpoch
            let end = Instant.now.after(milliseconds: pause)
            while !thread.isClosing, host.aliveEpoch == epoch, end.milliseconds(since: .now) > 0 {
                let rest = Int(end.milliseconds(since: .now))
                thread.wait(milliseconds: max(1, min(rest, Self.pauseMilliseconds)))
            }
        }
    }
}
