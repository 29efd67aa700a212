/// The loop of a run with watchers, all of one owner: publishes one notification after another, each when its publish
/// was answered and all have learned of it.
struct EventEngine: ~Copyable, LoadEngine {
    private let workload: Workload
    private let publisher: LoadConnection
    private let watchers: [Watcher]
    private let events: EventSet
    private let owner: String
    private var plan: RequestPlan
    private(set) var record = LoadRecord()
    private var input = [UInt8](
        repeating: 0, count: LoadLimits.answerHeadByteCountMax + LoadLimits.receiveByteCount)
    private var output: [UInt8] = []
    /// The last publish: its id's digits, when it was sent, and how many have not learned of it.
    private var id: [UInt8] = []
    private var sentAt: Int64
    private var waiting = 0

    private static let waitNanosecondsMax: Int64 = 50_000_000

    /// A connection that learns of publishes: what it has received since its last request.
    private final class Watcher {
        let socket: LoadSocket
        var input = [UInt8](repeating: 0, count: 64 << 10)
        var byteCount = 0
        var isWaiting = false

        init(_ socket: consuming LoadSocket) { self.socket = socket }

        func send(_ bytes: [UInt8]) throws(LoadFailure) {
            let none = RawSpan()
            guard try socket.send(bytes.span.bytes, body: none, trailer: none) == bytes.count else {
                throw LoadFailure(.server, "a watch was not taken by its socket")
            }
        }
    }

    /// Connects to the server and subscribes. The owner is a new one.
    init(
        _ dialect: any LoadDialect, _ payloads: LoadPayloads, _ plan: RequestPlan, path: String,
        watchers count: Int
    ) throws(LoadFailure) {
        let owner = "bench-" + String(UInt64.random(in: .min ... .max), radix: 16)
        let workload = try Workload(
            dialect, payloads, for: .measuring, fetches: false, hasNewIDs: true,
            owner: { _ in owner })
        var bytes = dialect.opening
        try dialect.appendWatch(of: owner, after: nil, to: &bytes)
        let events = try EventSet()
        let watchers = try (0..<count).map { (index) throws(LoadFailure) in
            let watcher = Watcher(try LoadSocket.connect(to: path))
            try watcher.send(bytes)
            try events.add(watcher.socket.descriptor, index: index)
            return watcher
        }
        let publisher = LoadConnection(
            try LoadSocket.connect(to: path), depth: 1, check: .all, opening: dialect.opening)
        try events.add(publisher.socket.descriptor, index: count)
        self.workload = workload
        self.publisher = publisher
        self.watchers = watchers
        self.events = events
        self.owner = owner
        self.plan = plan
        sentAt = Engine.now()
    }

    var peerProcess: Int32? { publisher.socket.peerProcess }

    mutating func beginCounting() { record.isCounting = true }

    mutating func start() throws(LoadFailure) { try publish() }

    mutating func run(until end: Int64, now: Int64) throws(LoadFailure) -> Int64 {
        if publisher.awaitsRoom || waiting == 0 && publisher.hasRoom { try publish() }
        let longest = publisher.awaitsRoom ? 0 : min(Self.waitNanosecondsMax, end - now)
        let count = try events.wait(nanoseconds: longest)
        for number in 0..<count {
            let index = events.index(number)
            guard index == watchers.count else {
                try receive(watchers[index])
                continue
            }
            let range = try publisher.receive(into: &input, waiting: false)
            if !range.isEmpty {
                try publisher.take(input, range, now: Engine.now(), workload, &record)
            }
        }
        let now = Engine.now()
        guard now - sentAt < LoadLimits.storeNanosecondsWithoutAnswerMax else {
            let received = watchers.first { $0.isWaiting }.map {
                $0.input.span.bytes.extracting(first: $0.byteCount).excerpt()
            }
            throw LoadFailure(
                .server, "timeout: no event for a minute; received \"\(received ?? "")\"")
        }
        return now
    }

    /// Sends a publish, or what opens the connection, or what is left of either.
    private mutating func publish() throws(LoadFailure) {
        let isNew = publisher.hasRoom
        if isNew { sentAt = Engine.now() }
        try publisher.send(limit: 1, now: sentAt, workload, &plan, through: &output)
        guard isNew else { return }
        id = NewID.digits(publisher.inFlight.first.stamp)
        waiting = watchers.count
        for watcher in watchers { watcher.isWaiting = true }
    }

    private mutating func receive(_ watcher: Watcher) throws(LoadFailure) {
        guard watcher.byteCount < watcher.input.count else {
            throw LoadFailure(
                .server, "a watcher received \(watcher.byteCount) bytes without the id of a publish"
            )
        }
        let count = try watcher.socket.receive(
            into: &watcher.input, from: watcher.byteCount, waiting: false)
        let now = Engine.now()
        let searched = max(0, watcher.byteCount - id.count)
        watcher.byteCount += count
        guard watcher.isWaiting,
            let next = try request(
                after: watcher.input, byteCount: watcher.byteCount, searched: searched)
        else { return }
        record.addEvent(nanoseconds: now - sentAt)
        watcher.isWaiting = false
        waiting -= 1
        if !next.isEmpty { try watcher.send(next) }
        watcher.byteCount = 0
    }

    /// What a watcher sends when it has learned of the last publish, perhaps nothing; nil: it has not.
    private func request(
        after input: [UInt8], byteCount: Int, searched: Int
    ) throws(LoadFailure) -> [UInt8]? {
        let bytes = input.span.bytes.extracting(first: byteCount)
        guard NewID.position(of: id, in: bytes, from: searched) != nil else { return nil }
        var next: [UInt8] = []
        try workload.dialect.appendWatch(of: owner, after: bytes, to: &next)
        return next
    }

    mutating func countUnanswered(at end: Int64) -> Int { 0 }
}
