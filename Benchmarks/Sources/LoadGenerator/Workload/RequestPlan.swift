/// Decides the next request: its kind, its payload, and since when it is due.
struct RequestPlan {
    private var generator: SeededGenerator
    private let payloadCount: Int
    private let purpose: Workload.Purpose
    /// A request is a fetch if a random number below 100 is below this one.
    private let readPercent: Int
    private var nextPublish = 0
    private let publishCountMax: Int
    private let order: IDOrder
    /// Distinguishes the bodies of this run from those of other runs.
    private let runStamp: UInt64
    private(set) var schedule: RateSchedule?

    /// Creates a plan that begins at `start`. Without a rate, a request is due as soon as there is room for it.
    ///
    /// - Parameter publishCountMax: the number of publishes; nil: one of each payload when storing, otherwise
    ///   unlimited.
    init(
        payloadCount: Int, purpose: Workload.Purpose, readPercent: Int, seed: UInt64,
        runStamp: UInt64, order: PublishOrder = .ascending, publishCountMax: Int? = nil,
        schedule: RateSchedule? = nil
    ) {
        // Differs from the numbers that make the payloads.
        generator = SeededGenerator(seed: seed ^ 0x5EED_0F_41E_9A7)
        self.payloadCount = payloadCount
        self.purpose = purpose
        self.readPercent = readPercent
        self.runStamp = runStamp
        self.publishCountMax = publishCountMax ?? (purpose == .storing ? payloadCount : .max)
        self.order =
            order == .scattered
            ? IDOrder(scattered: payloadCount, first: generator.index(below: payloadCount))
            : IDOrder(count: payloadCount)
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

/// The id of each publish: every id once, then again from the beginning.
struct IDOrder: Sendable {
    private let count: Int
    private let first: Int
    private let step: Int

    init(count: Int) {
        self.count = count
        first = 0
        step = 1
    }

    /// From `first` on, in steps of about the golden section of all: consecutive ids are far apart. The step and
    /// `count` have no common divisor, or some ids would never be used.
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
    /// Since when it has been due, in nanoseconds of the run's clock. Latency counts from here.
    var intendedAt: Int64
    /// The first bytes of a published body, and of its fetch; 0: the payload is as it is.
    var stamp: UInt64
}

/// When the requests of a fixed-rate run are due: at equal intervals, whatever the server does.
///
/// A request that cannot be sent in time keeps its time, and its latency counts from then: the wait of a client that
/// arrives at that moment. Counting from the sending would omit exactly the requests that a stall delays (coordinated
/// omission).
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
