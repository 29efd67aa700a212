/// Which of a leader's jobs in its bucket fail, and when each is tried again: the first times soon, then less and less
/// often, however often the others succeed.
struct BucketJobs {
    enum Job: CaseIterable {
        case lookAtStore, lookAtBases, finishBase, check, clean, uploadBase, collect

        fileprivate var words: String {
            switch self {
            case .lookAtStore: "look at \(ShardNames.store)"
            case .lookAtBases: "look at the bases"
            case .finishBase: "finish a base"
            case .check: "read the log"
            case .clean: "delete old segments"
            case .uploadBase: "upload a base"
            case .collect: "delete what is no longer needed"
            }
        }
    }

    private struct Failure {
        var error: any Error
        var count: Int
        var end: Int64
    }

    private var failures: [Job: Failure] = [:]
    /// What jobs stepped over, which went on.
    private var skipped: [Job: any Error] = [:]

    func isPaused(_ job: Job, asOf now: Int64) -> Bool {
        failures[job].map { now < $0.end } ?? false
    }

    mutating func noteSuccess(of job: Job) { failures[job] = nil }

    mutating func note(_ error: any Error, of job: Job, asOf now: Int64) {
        let count = (failures[job]?.count ?? 0) + 1
        var pause: Int64 = 0
        if count > ReplicationLimits.lostSegmentLookCount {
            let doublings = min(count - ReplicationLimits.lostSegmentLookCount - 1, 16)
            pause = min(
                ReplicationLimits.jobPauseMilliseconds << doublings,
                ReplicationLimits.jobPauseMillisecondsMax)
        }
        failures[job] = Failure(error: error, count: count, end: now + pause)
    }

    /// Notes what a job stepped over, or that there is nothing of that kind any more. It goes on all the same.
    mutating func noteSkipped(_ error: (any Error)?, of job: Job) { skipped[job] = error }

    /// What cannot be done; nil: nothing.
    func problem(asOf now: Int64) -> String? {
        let all = Job.allCases.compactMap { job in
            failures[job].map { words($0, of: job, asOf: now) }
                ?? skipped[job].map { "cannot \(job.words) completely: \($0)" }
        }
        return all.isEmpty ? nil : all.joined(separator: "; ")
    }

    private func words(_ failure: Failure, of job: Job, asOf now: Int64) -> String {
        let times = failure.count == 1 ? "once" : "\(failure.count) times"
        let pause = max(0, failure.end - now) / 1_000
        let next = pause > 0 ? ", and tries again in \(pause) s" : ""
        return "cannot \(job.words): \(failure.error) (failed \(times)\(next))"
    }
}
