import BlobProtocol
import BlobStore
import Logging
import ObjectStore
import Replication

/// The thread that ships what this daemon does, or applies what another one did.
final class ReplicaThread: Sendable {
    /// What the thread works with.
    struct Context: Sendable {
        let store: BlobStore
        let writer: WriterThread
        let replica: ReplicaStatus
        let access: ShardAccess
        let log: Logger
    }

    private let context: Context
    /// Woken by the signal of ``ReplicaStatus``.
    private let thread: ServiceThread
    private let onDeposed: @Sendable () -> Void

    /// Starts the thread.
    ///
    /// - Parameter onDeposed: called once when this daemon must be started again: another store leads, or
    ///   this one must be rebuilt.
    init(
        _ context: Context, onDeposed: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        self.context = context
        self.onDeposed = onDeposed
        thread = try ServiceThread()
        try thread.start("blobd-replica") { [self] in run() }
    }

    /// Ends the thread. What is not shipped is shipped after the next start.
    func close() {
        thread.stop()
        context.access.stop()
        context.replica.signal.notify()
        thread.join()
        context.replica.failAll(.stopping)
    }

    /// Answers who asks for the lead while nothing can be done.
    private func refusePromotion(because error: any Error) {
        context.replica.takePromotion()?.refuse("cannot take the lead: \(error)")
    }

    private func run() {
        let bucket: any Bucket
        do { bucket = try context.access.makeBucket() } catch {
            context.log.critical("Cannot reach \(context.access.name): \(error)")
            return onDeposed()
        }
        let host = DaemonReplica(context)
        var failures = ReplicaFailures(context.log)
        var replica = Replica(context.store, host)
        while !thread.isClosing {
            do {
                let step = try replica.step(on: bucket)
                failures.noteSuccess()
                host.complete(upTo: replica.reachedSequence)
                switch step {
                case .again: continue
                case .wait(let milliseconds):
                    context.replica.signal.wait(milliseconds: milliseconds)
                case .mustRestart(let why):
                    context.log.critical("\(why); start the daemon again")
                    host.become(.changes)
                    host.failWaiters("stored here, and another daemon leads: it is not replicated")
                    return onDeposed()
                }
            } catch {
                if error as? ReplicationError == .stopped { continue }
                let pause = failures.note(error)
                refusePromotion(because: error)
                host.complete(upTo: replica.reachedSequence)
                wait(milliseconds: pause)
            }
        }
    }

    /// Waits for so long whatever is committed meanwhile, but not while a client asks for the lead.
    private func wait(milliseconds: Int) {
        let end = Instant.now.after(milliseconds: milliseconds)
        while !thread.isClosing, !context.replica.hasPromotion {
            let rest = end.milliseconds(since: .now)
            guard rest > 0 else { return }
            context.replica.signal.wait(milliseconds: Int(rest))
        }
    }
}

/// Logs the first of several failures in a row, and their end, and says how long to wait.
private struct ReplicaFailures {
    private let log: Logger
    private var backoff = Backoff(firstMilliseconds: 250, millisecondsMax: 4_000)

    init(_ log: Logger) { self.log = log }

    mutating func noteSuccess() {
        guard backoff.attemptCount > 0 else { return }
        log.notice("Replication continues")
        backoff.reset()
    }

    /// - Returns: milliseconds to wait.
    mutating func note(_ error: any Error) -> Int {
        log.log(
            level: backoff.attemptCount == 0 ? .error : .debug, "Replication is paused: \(error)")
        return backoff.next()
    }
}
