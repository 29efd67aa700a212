import Foundation
import Testing

/// Threads for tests that wait for other processes: the test library has one for each core, and a test that waits
/// keeps another one from it that computes.
final class WaitingThreads: TaskExecutor {
    static let shared = WaitingThreads()
    private let queue = OperationQueue()

    private init() {
        // Each with a daemon or two, which all want a core now and then.
        queue.maxConcurrentOperationCount = 3 * ProcessInfo.processInfo.activeProcessorCount
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.addOperation { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// The tests of a suite wait more than they compute: they run on threads of their own.
struct OwnThreads: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(WaitingThreads.shared) { try await function() }
    }
}

extension Trait where Self == OwnThreads {
    static var waiting: Self { OwnThreads() }
}
