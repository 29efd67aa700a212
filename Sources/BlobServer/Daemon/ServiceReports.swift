import BlobStore
import Logging

/// What the service manager is told about a running daemon. Only the main thread uses it.
final class ServiceReports {
    private let manager: ServiceManager
    private let writer: WriterThread
    private let inboxes: [WorkerInbox]
    private var isStuck = false

    init(_ manager: ServiceManager, _ writer: WriterThread, _ inboxes: [WorkerInbox]) {
        self.manager = manager
        self.writer = writer
        self.inboxes = inboxes
    }

    private var counters: DaemonCounters { writer.context.counters }

    func ready() { manager.notify(.ready, status: status) }

    func stopping(_ reason: String) { manager.notify(.stopping, status: reason) }

    func around<Result>(_ reload: () -> Result) -> Result {
        manager.notify(.reloading, status: "reloading the configuration")
        defer { ready() }
        return reload()
    }

    var interval: Int? { manager.watchdogMilliseconds }

    /// Reports progress if all threads have answered since the last time, and asks them again.
    func beat() {
        let stuck = stuckThreads
        guard stuck.isEmpty else {
            if !isStuck {
                writer.context.log.critical(
                    "No progress of \(stuck.joined(separator: ", ")): not notifying the watchdog")
            }
            isStuck = true
            return
        }
        manager.notify(.alive, status: status)
        isStuck = false
        for (index, inbox) in inboxes.enumerated() {
            counters.workers[index].progress.ask()
            inbox.post(WorkerMessage(token: .worker, content: .progressCheck))
        }
        counters.writerProgress.ask()
        writer.thread.wake()
    }

    private var stuckThreads: [String] {
        var names = counters.workers.indices.filter { !counters.workers[$0].progress.isAnswered }
            .map { "worker \($0)" }
        if !counters.writerProgress.isAnswered { names.append("the writer") }
        return names
    }

    private var status: String {
        "\(counters.connectionCount) connections, \(counters.requests.total) requests, "
            + "\(counters.publishes.total) publishes"
    }
}
