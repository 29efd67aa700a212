import Bytes
internal import Dispatch
import Synchronization

/// Tries whether a server keeps what replication is built on: of many clients that create one name at once exactly one
/// does, everyone else is told that it is there, and its bytes stay.
///
/// Some servers ignore `If-None-Match: *`, some heed it and let several win a race. The first kind is found with every name,
/// the second with nearly every race.
///
/// It makes objects `probe/<random>/…` in the store's prefix, of 4 KiB each, and deletes them.
package struct ConditionalWriteProbe {
    package let nameCount: Int
    package let racerCount: Int

    package static let full = ConditionalWriteProbe(nameCount: 100, racerCount: 32)
    package static let short = ConditionalWriteProbe(nameCount: 4, racerCount: 8)

    static let objectByteCount = 4_096

    package init(nameCount: Int, racerCount: Int) {
        precondition(nameCount > 0 && racerCount > 1)
        self.nameCount = nameCount
        self.racerCount = racerCount
    }

    /// Races, compares, and deletes what was made. It takes as many threads and connections as there are racers.
    ///
    /// - Returns: what was seen. A server that cannot be asked is an error.
    package func run(
        _ bucket: ObjectBucket, stop: StopSignal = StopSignal()
    ) throws(ObjectStoreError) -> ProbeReport {
        let folder = "probe/\(UInt64.random(in: .min ... .max))"
        let names = (0..<nameCount).map { "\(folder)/\($0)" }
        let client = try bucket.makeClient(stop: stop)
        var report: ProbeReport
        do throws(ObjectStoreError) {
            report = try judge(names, try race(for: names, bucket, stop), client)
        } catch {
            _ = delete(names, client)
            throw error
        }
        report.deletionError = delete(names, client)
        return report
    }

    /// What is left behind is the operator's: the names say what it is.
    private func delete(_ names: [String], _ client: ObjectClient) -> ObjectStoreError? {
        for name in names {
            do throws(ObjectStoreError) { try client.delete(name) } catch { return error }
        }
        return nil
    }

    /// The bytes of a racer for a name: no two are the same.
    static func bytes(racer: Int, name: String) -> [UInt8] {
        var bytes = Array("racer \(racer) of \(name)\n".utf8)
        while bytes.count < objectByteCount { bytes.append(UInt8(truncatingIfNeeded: racer)) }
        return bytes
    }

    private func race(
        for names: [String], _ bucket: ObjectBucket, _ stop: StopSignal
    ) throws(ObjectStoreError) -> [[CreateOutcome?]] {
        var clients: [ObjectClient] = []
        for _ in 0..<racerCount { clients.append(try bucket.makeRacer(stop: stop)) }
        let race = Race(names, racerCount)
        let threads = clients.enumerated().compactMap { racer, client in
            // Only its thread uses it.
            nonisolated(unsafe) let client = client
            return ClientThread { race.run(client, racer: racer) }
        }
        if threads.count < racerCount { race.abandon() }
        for thread in threads { thread.join() }
        guard threads.count == racerCount else {
            throw ObjectStoreError(
                .unavailable, "the probe needs \(racerCount) threads, but got \(threads.count)")
        }
        if let error = race.error { throw error }
        return race.outcomes
    }

    private func judge(
        _ names: [String], _ outcomes: [[CreateOutcome?]], _ client: ObjectClient
    ) throws(ObjectStoreError) -> ProbeReport {
        var report = ProbeReport(nameCount: names.count, racerCount: racerCount)
        for (name, outcomes) in zip(names, outcomes) {
            switch try finding(name, outcomes, client, &report) {
            case .sound: report.soundNameCount += 1
            case .fault(let fault): report.append(fault: "\(name): \(fault)")
            case .unknown(let reason):
                report.uncheckedNameCount += 1
                report.uncheckedReason = report.uncheckedReason ?? "\(name): \(reason)"
            }
        }
        return report
    }

    private enum Finding {
        case sound
        case fault(String)
        /// A connection that broke, or an error, says nothing about conditions.
        case unknown(String)
    }

    private func finding(
        _ name: String, _ outcomes: [CreateOutcome?], _ client: ObjectClient,
        _ report: inout ProbeReport
    ) throws(ObjectStoreError) -> Finding {
        if outcomes.allSatisfy({ $0 == nil }) { return .unknown("it was not tried") }
        let winners = outcomes.indices.filter { outcomes[$0] == .created }
        let unknown = outcomes.indices.filter {
            if case .unknown? = outcomes[$0] { true } else { false }
        }
        report.unknownCount += unknown.count
        if winners.count > 1 {
            return .fault("\(winners.count) of \(outcomes.count) clients created it")
        }
        // One whose answer was lost may be the one.
        let candidates = winners.isEmpty ? unknown : winners
        if candidates.isEmpty {
            return .fault("no client created it, but all were told that it exists")
        }
        guard let winner = try holder(name, among: candidates, client) else {
            if winners.isEmpty, case .unknown(let reason)? = outcomes[unknown[0]] {
                return .unknown("no client was told that it created it: \(reason)")
            }
            return .fault("its bytes are not those of the client that created it")
        }
        let other = Self.bytes(racer: outcomes.count, name: name)
        switch try client.create(name, other.span.bytes) {
        case .exists: break
        case .created: return .fault("it was overwritten by a conditional create")
        case .unknown(let reason): return .unknown("a conditional create over it: \(reason)")
        }
        return try holder(name, among: [winner], client) == nil
            ? .fault("it was overwritten by a conditional create that was refused") : .sound
    }

    private func holder(
        _ name: String, among racers: [Int], _ client: ObjectClient
    ) throws(ObjectStoreError) -> Int? {
        guard let bytes = try client.get(name, byteCountMax: 2 * Self.objectByteCount) else {
            return nil
        }
        return racers.first { Self.bytes(racer: $0, name: name) == bytes }
    }
}

/// Racers wait for one another before each name, and leave what came of it.
private final class Race: Sendable {
    private let names: [String]
    private let racerCount: Int
    private let arrived = Atomic(0)
    /// For each name: the last racer that comes to it wakes the others.
    private let starts: [DispatchSemaphore]
    private let isAbandoned = Atomic(false)
    private let state:
        Mutex<(outcomes: [[CreateOutcome?]], hasAnswer: Bool, error: ObjectStoreError?)>

    /// If so many names had no answer at all, no more are tried: each costs all retries.
    private static let unansweredNameCountMax = 2

    init(_ names: [String], _ racerCount: Int) {
        self.names = names
        self.racerCount = racerCount
        starts = names.map { _ in DispatchSemaphore(value: 0) }
        let none = [CreateOutcome?](repeating: nil, count: racerCount)
        state = Mutex((Array(repeating: none, count: names.count), false, nil))
    }

    var outcomes: [[CreateOutcome?]] { state.withLock { $0.outcomes } }
    var error: ObjectStoreError? { state.withLock { $0.error } }

    /// All racers have left the name before.
    private func isHopeless(at index: Int) -> Bool {
        index >= Self.unansweredNameCountMax && !state.withLock { $0.hasAnswer }
    }

    /// Has every racer end: not all could be started, and so none gets past the first name.
    func abandon() {
        isAbandoned.store(true, ordering: .relaxed)
        for _ in 0..<racerCount { starts[0].signal() }
    }

    /// Waits until all racers have come to a name.
    private func meet(at index: Int) {
        let count = arrived.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
        guard count == (index + 1) * racerCount else { return starts[index].wait() }
        for _ in 1..<racerCount { starts[index].signal() }
    }

    func run(_ client: ObjectClient, racer: Int) {
        for (index, name) in names.enumerated() {
            // All come to each name, also after an error.
            meet(at: index)
            if isAbandoned.load(ordering: .relaxed) { return }
            guard error == nil, !isHopeless(at: index) else { continue }
            let bytes = ConditionalWriteProbe.bytes(racer: racer, name: name)
            do throws(ObjectStoreError) {
                let outcome = try client.create(name, bytes.span.bytes)
                state.withLock {
                    $0.outcomes[index][racer] = outcome
                    if case .unknown = outcome { return }
                    $0.hasAnswer = true
                }
            } catch {
                state.withLock { $0.error = $0.error ?? error }
            }
        }
    }
}

package struct ProbeReport: Sendable, Equatable {
    package var nameCount = 0
    package var racerCount = 0
    /// Names that exactly one client created, and that have its bytes.
    package var soundNameCount = 0
    /// Creates that were answered with an error or not at all. Their names are sound if what is there is one of theirs.
    package var unknownCount = 0
    package var faults: [String] = []
    package var faultyNameCount = 0
    /// Names of which too few answers came to judge the server.
    package var uncheckedNameCount = 0
    package var uncheckedReason: String?

    /// Why what was made is there still; nil: it is deleted.
    package var deletionError: ObjectStoreError?

    package var isSound: Bool {
        faultyNameCount == 0 && soundNameCount == nameCount && nameCount > 0
    }

    /// Why the bucket cannot be replicated to; nil: it can.
    package var refusal: String? {
        if isSound { return nil }
        if faultyNameCount == 0, let uncheckedReason {
            return "conditional creates could not be checked: \(uncheckedReason)"
        }
        return "the server does not honour conditional creates (\(faults.first ?? ""))"
    }

    static let faultCountMax = 10

    mutating func append(fault: String) {
        faultyNameCount += 1
        if faults.count < Self.faultCountMax { faults.append(fault) }
    }
}
