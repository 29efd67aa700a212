internal import CLoad

/// What ``LoadRun`` needs of a loop.
protocol LoadEngine: ~Copyable {
    var record: LoadRecord { get }
    /// The server's process.
    var peerProcess: Int32? { get }
    mutating func beginCounting()
    mutating func start() throws(LoadFailure)
    /// Does what is due, waits for what comes, and returns the time afterwards.
    mutating func run(until end: Int64, now: Int64) throws(LoadFailure) -> Int64
    /// Counts the wait of every request that was due before `end` and has no answer. Returns the number of such
    /// requests.
    mutating func countUnanswered(at end: Int64) -> Int
}

/// The event loop: all connections of a run in one thread.
///
/// A step of a connection is one `recv` and one `send`: every complete answer is checked, and as many new requests are
/// sent together. The loop allocates nothing.
struct Engine: ~Copyable, LoadEngine {
    private let workload: Workload
    private let allConnections: [LoadConnection]
    private let events: EventSet
    private var plan: RequestPlan
    private(set) var record = LoadRecord()
    private var input: [UInt8]
    private var output: [UInt8] = []
    private var nextConnection = 0

    /// The longest wait for events, in nanoseconds, so that the loop regularly checks the clock.
    private static let waitNanosecondsMax: Int64 = 50_000_000
    /// The loop stops sleeping this long before a request is due, since waking up takes about as long.
    private static let watchNanoseconds: Int64 = 80_000

    init(
        _ workload: consuming Workload, _ plan: RequestPlan, path: String, connections: Int,
        depth: Int, check: LoadCheck
    ) throws(LoadFailure) {
        let opening = workload.opening
        let events = try EventSet()
        allConnections = try (0..<connections).map { (index) throws(LoadFailure) in
            let connection = LoadConnection(
                try LoadSocket.connect(to: path), depth: depth, check: check, opening: opening)
            try events.add(connection.socket.descriptor, index: index)
            return connection
        }
        self.events = events
        self.workload = workload
        self.plan = plan
        input = Array(
            repeating: 0, count: LoadLimits.answerHeadByteCountMax + LoadLimits.receiveByteCount)
        output.reserveCapacity(LoadConnection.sendByteCount)
    }

    var peerProcess: Int32? { allConnections[0].socket.peerProcess }

    private var isClosedLoop: Bool { plan.schedule == nil }

    static func now() -> Int64 { cload_monotonic_ns() }

    mutating func beginCounting() { record.isCounting = true }

    mutating func start() throws(LoadFailure) {
        let now = Self.now()
        // At a fixed rate only `dispatch` sends requests.
        let limit = isClosedLoop ? Int.max : 0
        for index in 0..<allConnections.count { try send(index, limit: limit, now: now) }
    }

    /// Waits for answers, and replaces them with new requests.
    mutating func run(until end: Int64, now: Int64) throws(LoadFailure) -> Int64 {
        var now = now
        if allConnections.count == 1 && isClosedLoop && !allConnections[0].awaitsRoom {
            // With a single connection `recv` can wait, which saves a system call.
            return try serve(0, waiting: true)
        }
        let count = try events.wait(nanoseconds: waitNanoseconds(until: end, now: now))
        if count == 0 { now = Self.now() }
        for number in 0..<count {
            now = try serve(events.index(number), waiting: false)
        }
        if !isClosedLoop {
            now = Self.now()
            try dispatch(now: now)
        }
        return now
    }

    private func waitNanoseconds(until end: Int64, now: Int64) -> Int64 {
        let longest = min(Self.waitNanosecondsMax, end - now)
        guard let schedule = plan.schedule else { return longest }
        let untilDue = schedule.nextDue - now
        // Overdue requests wait for a connection, and only an event can free one.
        return untilDue <= 0 ? longest : min(longest, untilDue - Self.watchNanoseconds)
    }

    private mutating func serve(_ index: Int, waiting: Bool) throws(LoadFailure) -> Int64 {
        let range = try allConnections[index].receive(into: &input, waiting: waiting)
        let now = Self.now()
        if !range.isEmpty {
            try allConnections[index].take(input, range, now: now, workload, &record)
        }
        try send(index, limit: isClosedLoop ? .max : 0, now: now)
        return now
    }

    private mutating func send(_ index: Int, limit: Int, now: Int64) throws(LoadFailure) {
        try allConnections[index].send(limit: limit, now: now, workload, &plan, through: &output)
        let awaitsRoom = allConnections[index].awaitsRoom
        if awaitsRoom != allConnections[index].isPolledForRoom {
            allConnections[index].isPolledForRoom = awaitsRoom
            events.change(
                allConnections[index].socket.descriptor, index: index, awaitsRoom: awaitsRoom)
        }
    }

    /// Sends the requests that are due, on each connection in turn as it has room.
    private mutating func dispatch(now: Int64) throws(LoadFailure) {
        guard let schedule = plan.schedule, schedule.nextDue <= now else { return }
        // If many are due at once, each connection takes its share of them in one call.
        let share = max(1, schedule.overdueCount(at: now) / allConnections.count)
        var tried = 0
        while tried < allConnections.count {
            let index = nextConnection
            nextConnection = index + 1 == allConnections.count ? 0 : index + 1
            guard allConnections[index].hasRoom else {
                tried += 1
                continue
            }
            try send(index, limit: share, now: now)
            guard let due = plan.schedule?.nextDue, due <= now else { return }
            tried = 0
        }
    }

    mutating func countUnanswered(at end: Int64) -> Int {
        var count = 0
        for index in 0..<allConnections.count {
            for position in 0..<allConnections[index].inFlight.count {
                let request = allConnections[index].inFlight.request(position)
                guard request.intendedAt < end else { continue }
                record.addUnanswered(request.kind, nanoseconds: end - request.intendedAt)
                count += 1
            }
        }
        // Bounded: further requests are counted, but not recorded.
        let overdue = plan.schedule?.overdueCount(at: end) ?? 0
        for _ in 0..<min(overdue, LoadLimits.overdueRecordedMax) {
            guard let request = plan.next(now: end) else { break }
            record.addUnanswered(request.kind, nanoseconds: end - request.intendedAt)
        }
        return count + overdue
    }
}
