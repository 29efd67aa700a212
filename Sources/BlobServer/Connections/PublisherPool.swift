import Synchronization

/// Threads that read long bodies and finish payloads, so that no worker waits for a compression.
final class PublisherPool: Sendable {
    /// How many threads there are.
    static let threadCount = 2

    private struct State {
        var jobs: [any PublisherJob] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let signal: WakeSignal
    private let threads = Mutex<[WorkerThread]>([])

    init() throws(SystemError) {
        signal = try WakeSignal()
    }

    /// Starts the threads, which hand what they finish to `writer`.
    func start(_ writer: WriterThread) throws(SystemError) {
        for index in 0..<Self.threadCount {
            let thread = try WorkerThread(name: "blobd-pub-\(index)") { [self] in run(writer) }
            threads.withLock { $0.append(thread) }
        }
    }

    /// Puts a job in the queue. The queue needs no limit: there is at most one job for each connection,
    /// and its memory is reserved.
    func submit(_ job: any PublisherJob) {
        state.withLock { $0.jobs.append(job) }
        signal.notify()
    }

    /// Finishes what is queued and ends the threads.
    func close() {
        state.withLock { $0.isClosed = true }
        signal.notify()
        for thread in threads.withLock({ $0 }) { thread.join() }
    }

    private func run(_ writer: WriterThread) {
        while true {
            let (job, isClosed, others) = state.withLock { state in
                let job = state.jobs.isEmpty ? nil : state.jobs.removeFirst()
                return (job, state.isClosed, !state.jobs.isEmpty || state.isClosed)
            }
            // One signal wakes one thread. It is passed on while there is work, and at the end to all.
            if others { signal.notify() }
            if let job {
                job.run(writer)
            } else if isClosed {
                return
            } else {
                signal.wait(milliseconds: -1)
            }
        }
    }
}
