import Dispatch

/// Runs an actor on a dispatch queue, whose threads may block.
final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(_ label: String = "blobd.client") {
        queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
