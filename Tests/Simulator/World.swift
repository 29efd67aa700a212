import BlobStore
import Replication
import SimulatedSystem
import SnapshotHook
import TestSupport

/// Everything that there is: a bucket, some hosts, their clients, a clock, and chance. One thread runs it, and a
/// seed repeats it.
///
/// It goes from event to event. Each begins with numbers of its own, so that a run in which some events do nothing is
/// the same otherwise.
final class World {
    /// The wall clock's at the beginning.
    static let start: Int64 = 1_800_000_000_000

    let swarm: Swarm
    let folder: String
    let objects = SimulatedObjects()
    var hosts: [Host] = []
    var history: ShardHistory
    var devices: [Device] = []
    var chance: SeededGenerator
    /// Milliseconds since the beginning, by a clock that is always right.
    var clock: Int64 = 0 {
        didSet { sim_clock_set(Self.start + clock, 1_000_000 + clock) }
    }
    /// Whether anything fails.
    var isSafe = false
    /// Whether the second phase has begun.
    var isQuiet = false
    /// Whether clients change nothing more.
    var isStill = false
    /// How deep in requests that are under way others act.
    private var depth = 0
    /// How often others may still act within the requests of this event.
    private var nestedCount = 0
    private static let nestedCountMax = 30
    /// The host whose running code may be interrupted before its next snapshot: nil while that code has the lock of the
    /// thread that writes.
    var interruptible: Host?
    /// The notification for which evicted bytes were published again, and by which operation.
    var republished: (number: Int, operation: Int)?
    private var delayed: [(due: Int64, effect: () -> Void)] = []
    /// Until then the bucket cannot be reached.
    var awayUntil: Int64 = 0
    /// Contents of which bytes were damaged on any disk: they may be lost, and are never wrong.
    var damaged: Set<Int> = []
    /// Long payloads' objects that the bucket has lost, and when it did so last.
    var lost: [String: Int64] = [:]
    /// Whether a follower has gone on without a payload that the bucket did not give.
    var hasUngivenPayloads = false
    /// Whether a host may have a notification without the bytes of its payloads.
    var mayBeEvicted: Bool {
        swarm.localByteCountMax != nil || !damaged.isEmpty || hasUngivenPayloads
    }
    /// Hosts whose operator has said that the leader is gone.
    var mayDepose: Set<String> = []
    /// The batch of the first base.
    var firstRestorable = UInt64.max
    /// The last batch of each base that is in the bucket, by its segment.
    var baseSequences: [UInt64: UInt64] = [:]
    /// The number of the last batch of any host.
    var stamp = 0
    var operation = 0
    private var pendingFinding: (any Error)?
    private(set) var counts = Counts()
    private(set) var reached: [String: Int] = [:]
    let tracer: Tracer

    struct Counts {
        var requests = 0
        var faults = 0
        var operations = 0
        var steps = 0
        var accidents = 0
    }

    init(_ swarm: Swarm, in folder: String, tracer: Tracer) {
        self.swarm = swarm
        self.folder = folder
        self.tracer = tracer
        chance = SeededGenerator(seed: swarm.seed)
        history = ShardHistory(first: Array(repeating: nil, count: swarm.idCount))
        sim_chance_seed(swarm.seed)
        clock = 0
    }

    var schedule: BaseSchedule {
        BaseSchedule(
            intervalMilliseconds: swarm.retentionMilliseconds / 3,
            retentionMilliseconds: swarm.retentionMilliseconds)
    }

    /// Since when everything can be restored. A clock that is set makes a base look older than it is, by one interval.
    var restorableSince: Int64 {
        let jumpCount = Int64(reached["set a clock"] ?? 0)
        let lost = jumpCount * schedule.intervalMilliseconds
        return clock - max(0, schedule.retentionMilliseconds - lost)
    }

    // MARK: - Running

    /// Plays the whole run.
    ///
    /// - Throws: ``Finding``, or what a broken simulator throws.
    func run() throws {
        defer { close() }
        snapshot_hook_set(
            { context in
                guard let context else { return }
                Unmanaged<World>.fromOpaque(context).takeUnretainedValue().actBeforeSnapshot()
            }, Unmanaged.passUnretained(self).toOpaque())
        defer { snapshot_hook_set(nil, nil) }
        for number in 0..<swarm.hostCount {
            hosts.append(
                try Host(self, "h\(number)", number: number, mayBegin: number == 0))
        }
        if swarm.has(.feeds) { devices = (0..<4).map { Device(number: $0) } }
        for event in 0..<swarm.eventCount {
            chance = SeededGenerator(seed: swarm.seed, thread: 1, round: event)
            clock += Int64(chance.below(swarm.pauseMilliseconds + 1))
            trace("event \(event) at \(clock)")
            try runDue(countMax: 24)
            if !swarm.dropped.contains(event) {
                // Now and then many follow one another at once.
                for _ in 0..<1 + chance.below(chance.chance(15) ? 12 : 3) { try operate() }
                if chance.chance(swarm.accidentPercent) { try accident() }
            }
            try check()
        }
        isSafe = true
        try reachQuiet()
    }

    private func close() {
        for host in hosts {
            for task in host.tasks { task.isRunning = false }
            host.frames = 0
            host.disk.freeze()
            host.bury()
            host.disk.close()
        }
        hosts = []
        sim_folder_replace(folder, nil)
    }

    /// From here on what the host's code asks of the system is the host's.
    func enter(_ host: Host) { counts.steps += 1 }

    /// Runs what is due on all hosts, in any order.
    func runDue(countMax: Int) throws {
        applyDelayed()
        if depth == 0 { nestedCount = 0 }
        for _ in 0..<countMax {
            try throwPending()
            var due: [(Host, HostTask?)] = []
            for host in hosts {
                if case .down(let until) = host.life, until <= clock { due.append((host, nil)) }
                guard host.isUp else { continue }
                for task in host.tasks where task.due <= clock && !task.isRunning {
                    due.append((host, task))
                }
            }
            guard !due.isEmpty else { return }
            let (host, task) = due[chance.below(due.count)]
            if let task { try host.run(task) } else { try host.start() }
        }
        try throwPending()
    }

    /// What others do while a request is under way.
    func actMeanwhile(_ host: Host) {
        guard depth < 3, nestedCount < Self.nestedCountMax, chance.chance(swarm.nestingPercent)
        else { return }
        nestedCount += 1
        interrupt {
            if !self.isStill, self.chance.chance(50) { try self.operate() }
            try self.runDue(countMax: 1 + self.chance.below(3))
            if !self.isSafe, self.chance.below(400) < self.swarm.accidentPercent {
                try self.accident()
            }
        }
    }

    /// What others do between two snapshots of a host.
    private func actBeforeSnapshot() {
        guard let host = interruptible, host.life == .up, depth < 3 else { return }
        // Each is one more payload to ship, before which there are snapshots, too: without a bound it might not end.
        if swarm.has(.republish), !isQuiet, nestedCount < Self.nestedCountMax, chance.chance(50) {
            nestedCount += 1
            interrupt { try self.republish() }
        }
        actMeanwhile(host)
    }

    /// Runs what others do while the code of a host stands still.
    private func interrupt(_ body: () throws -> Void) {
        let interrupted = interruptible
        interruptible = nil
        depth += 1
        defer {
            depth -= 1
            interruptible = interrupted
        }
        note(body)
    }

    /// Time passes, while the one that waits does nothing, and all others continue.
    ///
    /// - Parameter paused: a host that stands still; nil: only the present step does.
    /// - Returns: whether others did continue: not where too much is nested.
    @discardableResult
    func pause(_ paused: Host?, _ milliseconds: Int64, of host: Host? = nil) -> Bool {
        let end = clock + milliseconds
        if let paused { paused.pausedUntil = end }
        guard depth < 3, nestedCount < Self.nestedCountMax else {
            clock = end
            return false
        }
        interrupt {
            for _ in 0..<8 where self.clock < end {
                self.nestedCount += 1
                self.clock = min(end, self.clock + max(1, milliseconds / 6))
                try self.runDue(countMax: 6)
                if !self.isSafe, self.chance.chance(30) { try self.operate() }
            }
        }
        clock = max(clock, end)
        return true
    }

    /// Has an effect happen some time later.
    func delay(effect: @escaping () -> Void) {
        sometimes("a request arrived late")
        delayed.append((clock + Int64(chance.logarithmic(10...100_000)), effect))
    }

    private func applyDelayed() {
        guard !delayed.isEmpty else { return }
        let due = delayed.filter { $0.due <= clock || isSafe }
        delayed.removeAll { $0.due <= clock || isSafe }
        for request in due { request.effect() }
    }

    // MARK: - Findings and reports

    /// Runs a check where none can be thrown: what it finds is thrown soon.
    func note(_ body: () throws -> Void) {
        do { try body() } catch { pendingFinding = pendingFinding ?? error }
    }

    func throwPending() throws {
        if let finding = pendingFinding { throw finding }
    }

    func trace(_ text: @autoclosure () -> String) {
        guard tracer.isOn else { return }
        tracer.add(text().replacing(folder, with: ""))
    }

    func countAccident() { counts.accidents += 1 }
    func countOperation() { counts.operations += 1 }
    func countRequest() { counts.requests += 1 }
    func countFault() { counts.faults += 1 }

    /// Whether two disks may have been the same.
    var hasCopies: Bool { reached["cloned a host"] != nil || reached["rolled back a disk"] != nil }

    /// Notes that something rare was reached.
    func sometimes(_ what: String) { reached[what, default: 0] += 1 }
}
