/// What is asked for next: which kind, which payload, and since when it has been wanted.
struct RequestPlan {
    private var generator: SeededGenerator
    private let payloadCount: Int
    private let purpose: Workload.Purpose
    /// A request fetches when a number below 100 is below this one.
    private let readPercent: Int
    private var nextPublish = 0
    private let publishCountMax: Int
    private let order: IDOrder
    /// Tells the bodies of this run from those of all others.
    private let runStamp: UInt64
    private(set) var schedule: RateSchedule?

    /// A plan that begins at `start`; without a rate a request is wanted as soon as there is room
    /// for it.
    ///
    /// - Parameter publishCountMax: how many publishes there are; nil: one of each payload when
    ///   they are stored, and without end otherwise.
    init(
        payloadCount: Int, purpose: Workload.Purpose, readPercent: Int, seed: UInt64,
        runStamp: UInt64, order: PublishOrder = .ascending, publishCountMax: Int? = nil,
        schedule: RateSchedule? = nil
    ) {
        // Not the numbers that the payloads were made from.
        generator = SeededGenerator(seed: seed ^ 0x5EED_0F_41E_9A7)
        self.payloadCount = payloadCount
        self.purpose = purpose
        self.readPercent = readPercent
        self.runStamp = runStamp
        self.publishCountMax = publishCountMax ?? (purpose == .storing ? payloadCount : .max)
        self.order =
            order == .ascending
            ? IDOrder(count: payloadCount)
            : IDOrder(scattered: payloadCount, first: generator.index(below: payloadCount))
        self.schedule = schedule
    }

    mutating func next(now: Int64) -> PlannedRequest? {
        var intendedAt = now
        if schedule != nil {
            guard let due = schedule?.take(now: now) else { return nil }
            intendedAt = due
        }
        if purpose == .storing {
            guard nextPublish < publishCountMax else { return nil }
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
        guard nextPublish < publishCountMax else { return nil }
        nextPublish &+= 1
        let number = nextPublish &- 1
        return PlannedRequest(
            kind: .publish, index: order.index(number), intendedAt: intendedAt,
            stamp: UInt64(truncatingIfNeeded: nextPublish) ^ runStamp)
    }
}

/// Which id publish number n goes to: each of them once, then from the beginning again.
struct IDOrder: Sendable {
    private let count: Int
    private let first: Int
    private let step: Int

    init(count: Int) {
        self.count = count
        first = 0
        step = 1
    }

    /// From `first` on, in steps of about the golden section of all: neighbours in time are far
    /// from each other. The step has no divisor in common with `count`, or some would never come.
    init(scattered count: Int, first: Int) {
        func divisor(_ one: Int, _ other: Int) -> Int {
            other == 0 ? one : divisor(other, one % other)
        }
        self.count = count
        self.first = first
        var step = max(1, Int(Double(count) * 0.618))
        while divisor(count, step) != 1 { step += 1 }
        self.step = step
    }

    func index(_ number: Int) -> Int { (first &+ (number % count) &* step) % count }
}

struct PlannedRequest: BitwiseCopyable {
    static let stampByteCount = 8
    static let opening = PlannedRequest(kind: .opening, index: 0, intendedAt: 0, stamp: 0)

    var kind: RequestKind
    var index: Int
    /// Since when it has been wanted, in nanoseconds of the run's clock; latency counts from here.
    var intendedAt: Int64
    var stamp: UInt64
}

/// When the requests of a run of fixed rate are meant to be sent: evenly, whatever the server does.
///
/// A request that cannot be sent in time keeps its time, and its latency counts from there: what a
/// client would have waited that came at that moment. Counting from the sending instead leaves out
/// exactly the requests that a stall delays (coordinated omission).
struct RateSchedule {
    let rate: Double
    private let start: Int64
    private let interval: Double
    private var taken = 0

    init(rate: Double, start: Int64) {
        self.rate = rate
        self.start = start
        interval = 1e9 / rate
    }

    var nextDue: Int64 { start + Int64(Double(taken) * interval) }

    mutating func take(now: Int64) -> Int64? {
        let due = nextDue
        guard due <= now else { return nil }
        taken += 1
        return due
    }

    func overdueCount(at end: Int64) -> Int {
        guard nextDue < end else { return 0 }
        return max(0, Int((Double(end - start) / interval).rounded(.up)) - taken)
    }
}
