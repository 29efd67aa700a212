import Synchronization

/// Threads that read long bodies and finish payloads, so that no worker waits for a compression.
final class PublisherPool: Sendable {
    /// How many threads there are.
    static let threadCount = 2

    private let jobs = Mutex<[any PublisherJob]>([])
    private let threads: ServiceThread

    init() throws(SystemError) { threads = try ServiceThread() }

    /// Starts the threads, which hand what they finish to `writer`.
    func start(_ writer: WriterThread) throws(SystemError) {
        for index in 0..<Self.threadCount {
            try threads.start("blobd-pub-\(index)") { [self] in run(writer) }
        }
    }

    /// Puts a job in the queue. The queue needs no limit: there is at most one job for each connection,
    /// and its memory is reserved.
    func submit(_ job: any PublisherJob) {
        jobs.withLock { $0.append(job) }
        threads.wake()
    }

    /// Finishes what is queued and ends the threads.
    func close() { threads.close() }

    private func run(_ writer: WriterThread) {
        while true {
            // Read first: what was queued before the end is finished.
            let isClosing = threads.isClosing
            let (job, hasMore) = jobs.withLock { jobs in
                (jobs.isEmpty ? nil : jobs.removeFirst(), !jobs.isEmpty)
            }
            // One signal wakes one thread. It is passed on while there is work, and at the end to all.
            if hasMore || isClosing { threads.wake() }
            if let job {
                job.run(writer)
            } else if isClosing {
                return
            } else {
                threads.wait(milliseconds: -1)
            }
        }
    }
}
