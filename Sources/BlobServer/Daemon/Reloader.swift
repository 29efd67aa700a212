import BlobProtocol
import BlobStore
import Logging

/// Handles a SIGHUP. A mistake in the configuration or the keys changes nothing. Only the main thread uses it.
final class Reloader {
    private var options: DaemonOptions
    private let environment: WorkerEnvironment
    private let descriptorMax: Int
    private var log: Logger
    private let read: Reload.Read
    /// Limits the log lines of reloads that change nothing, which may come in a storm.
    private var quiet: RateLimitedLog

    init(
        _ options: DaemonOptions, _ environment: WorkerEnvironment, descriptorMax: Int,
        read: @escaping Reload.Read
    ) {
        self.options = options
        self.environment = environment
        self.descriptorMax = descriptorMax
        log = environment.context.log
        self.read = read
        quiet = RateLimitedLog(log)
    }

    /// - Returns: the new admission rules; nil: no change.
    func reload() -> Acceptor.Admission? {
        environment.accessLog?.reopen()
        let (new, keys): (Reload, SigningKeys?)
        do {
            new = try read(options)
            keys = try new.options.signingKeyPath.map(SigningKeyFile.read)
        } catch {
            log.error("SIGHUP: \(error); nothing has changed")
            return nil
        }
        // Changes are logged at the more verbose of the two levels.
        log.logLevel = min(options.logLevel, new.options.logLevel)
        report(new, keys)
        log.logLevel = new.options.logLevel
        environment.links.replace(by: keys)
        options = new.options
        return new.changes.isEmpty ? nil : apply()
    }

    private func apply() -> Acceptor.Admission {
        let limits = options.limits
        environment.context.store.adjust(to: options.storeOptions)
        environment.context.bodyMemory.change(byteCountMax: limits.bodyMemoryByteCountMax)
        environment.context.limits.replace(by: limits)
        // They sleep for the old intervals.
        environment.writer.thread.wake()
        environment.context.scrub.thread.wake()
        let budget = DescriptorBudget(
            descriptorMax: descriptorMax, connectionCountMax: limits.connectionCountMax,
            workerCount: options.workerCount)
        budget.note(limits, descriptorMax: descriptorMax, log)
        environment.drainSlots.change(countMax: budget.drainingCountMax)
        return Acceptor.Admission(
            connectionCountMax: budget.connectionCountMax, allowedUserIDs: options.allowedUserIDs)
    }

    private func report(_ new: Reload, _ keys: SigningKeys?) {
        for change in new.changes { log.notice("SIGHUP: \(change)") }
        for change in new.pendingRestart {
            log.warning("SIGHUP: needs a restart: \(change)")
        }
        let keyChanges = SigningKeys.changes(from: environment.links.keys, to: keys)
        if let keyChanges { log.notice("SIGHUP: signing keys: \(keyChanges)") }
        if new.changes.isEmpty, new.pendingRestart.isEmpty, keyChanges == nil {
            quiet.note(.notice, "SIGHUP: reloaded; no setting changed")
        }
    }
}
