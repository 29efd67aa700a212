/// What is asked for next: which kind, which payload, and since when it has been wanted.
struct RequestPlan {
    private var generator: SeededGenerator
    private let payloadCount: Int
    private let purpose: Workload.Purpose
    /// A request fetches when a number below 100 is below this one.
    private let readPercent: Int
    private var nextPublish = 0
    /// Tells the bodies of this run from those of all others.
    private let runStamp: UInt64
    /// Nil in a closed loop.
    private(set) var schedule: RateSchedule?

    /// A plan that begins at `start`; without a rate a request is wanted as soon as there is room
    /// for it.
    init(
        payloadCount: Int, purpose: Workload.Purpose, readPercent: Int, seed: UInt64,
        runStamp: UInt64, schedule: RateSchedule? = nil
    ) {
        // Not the numbers that the payloads were made from.
        generator = SeededGenerator(seed: seed ^ 0x5EED_0F_41E_9A7)
        self.payloadCount = payloadCount
        self.purpose = purpose
        self.readPercent = readPercent
        self.runStamp = runStamp
        self.schedule = schedule
    }

    /// The next request; nil when none is due, or none is left.
    mutating func next(now: Int64) -> PlannedRequest? {
        var intendedAt = now
        if schedule != nil {
            guard let due = schedule?.take(now: now) else { return nil }
            intendedAt = due
        }
        if purpose == .storing {
            guard nextPublish < payloadCount else { return nil }
            nextPublish += 1
            return PlannedRequest(
                kind: .publish, index: nextPublish - 1, intendedAt: intendedAt, stamp: 0)
        }
        let fetches =
            readPercent == 100 || (readPercent > 0 && generator.index(below: 100) < readPercent)
        if fetches {
            return PlannedRequest(
                kind: .fetch, index: generator.index(below: payloadCount), intendedAt: intendedAt,
                stamp: 0)
        }
        nextPublish &+= 1
        let number = nextPublish &- 1
        return PlannedRequest(
            kind: .publish, index: number % payloadCount, intendedAt: intendedAt,
            stamp: UInt64(truncatingIfNeeded: nextPublish) ^ runStamp)
    }
}

/// One request of a run.
struct PlannedRequest: BitwiseCopyable {
    /// Bytes of a stamp.
    static let stampByteCount = 8

    var kind: RequestKind
    /// Which payload.
    var index: Int
    /// Since when it has been wanted, in nanoseconds of the run's clock; latency counts from here.
    var intendedAt: Int64
    /// The first bytes of a published body.
    var stamp: UInt64
}
