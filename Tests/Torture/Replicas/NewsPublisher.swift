import BlobClient
import BlobProtocol
import Synchronization
import TestSupport

/// Publishes notifications of its own, one after the other, deletes some of them again, and keeps account of what was
/// acknowledged. What was not answered, or refused, may be there or not.
final class NewsPublisher: Sendable {
    /// What all of them do alike.
    struct Plan: Sendable {
        /// Whether it waits for the bucket.
        var awaitsReplication = true
        /// One in so many is longer than a chunk, and an object of its own in the bucket. 0: none.
        var longOneIn = 5
        /// One change in so many is a delete of an earlier one. 0: none.
        var deleteOneIn = 6
        /// How long it waits between two changes, in microseconds.
        var pauseMicroseconds = 1_000
    }

    private struct State {
        /// By number: whether it is there.
        var acknowledged: [Int: Bool] = [:]
        var count = 0
        var acknowledgementCount = 0
        var refusedCount = 0
    }

    private let name: String
    private let plan: Plan
    private let seed: UInt64
    private let state = Mutex(State())

    init(_ name: String, seed: UInt64, _ plan: Plan = Plan()) {
        self.name = name
        self.seed = seed
        self.plan = plan
    }

    /// Notifications whose last change was acknowledged.
    var acknowledgedCount: Int { state.withLock { $0.acknowledged.count } }
    /// All acknowledgements.
    var acknowledgementCount: Int { state.withLock { $0.acknowledgementCount } }
    /// Changes that were refused because another daemon leads, or not enough is in the bucket.
    var refusedCount: Int { state.withLock { $0.refusedCount } }

    private func id(_ number: Int) -> String { "\(name)-\(number)" }

    private func body(_ number: Int) -> [UInt8] {
        let isLong = plan.longOneIn > 0 && number % plan.longOneIn == plan.longOneIn - 1
        var generator = SeededGenerator(seed: seed, thread: number)
        return generator.bytes(isLong ? 66_000 + generator.below(60_000) : 20 + number % 300)
    }

    // MARK: Changing

    /// Changes until the sign is up, or the daemon is gone. Throws only for an answer that must not be.
    func work(at socket: String, until stop: StopSign) throws {
        var options = BlobConnection.Options()
        // Longer than any leader sleeps.
        options.timeoutMilliseconds = 120_000
        guard var connection = try? BlobConnection.connect(to: socket, options: options) else {
            return
        }
        connection.awaitsReplication = plan.awaitsReplication
        var generator = SeededGenerator(seed: seed, thread: 1_000_000)
        while !stop.isUp {
            do throws(ClientError) {
                if plan.deleteOneIn > 0, generator.below(plan.deleteOneIn) == 0 {
                    try delete(&connection, using: &generator)
                } else {
                    try publish(&connection)
                }
            } catch {
                switch error {
                case .closed, .io, .noDaemon: return
                case .refused(let problem)
                where ["unreplicated", "follower", "unavailable", "stopping"].contains(problem.code):
                    state.withLock { $0.refusedCount += 1 }
                    Clock.pause(microseconds: 5_000)
                default: throw TestFailure("\(name): \(error)")
                }
            }
            Clock.pause(microseconds: plan.pauseMicroseconds)
        }
    }

    private func publish(_ connection: inout BlobConnection) throws(ClientError) {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let request = PutRequest(
            id: id(number), mediaType: "application/octet-stream", lifetime: .seconds(30 * 86_400))
        _ = try connection.put(request, body(number).span.bytes)
        acknowledge(number, isThere: true)
    }

    private func delete(
        _ connection: inout BlobConnection, using generator: inout SeededGenerator
    ) throws(ClientError) {
        let number = state.withLock { state -> Int? in
            guard state.count > 0 else { return nil }
            let number = 1 + generator.below(state.count)
            // Until it is answered either may be so.
            state.acknowledged[number] = nil
            return number
        }
        guard let number else { return }
        do throws(ClientError) {
            try connection.call(.delete(id(number)))
        } catch {
            // Not there, which says nothing of the bucket.
            if case .notFound = error { return }
            throw error
        }
        acknowledge(number, isThere: false)
    }

    private func acknowledge(_ number: Int, isThere: Bool) {
        state.withLock {
            $0.acknowledged[number] = isThere
            $0.acknowledgementCount += 1
        }
    }

    // MARK: Checking

    /// Throws unless a daemon has everything as it was acknowledged.
    ///
    /// - Returns: how many notifications were looked at.
    @discardableResult
    func check(at socket: String, _ when: String) throws -> Int {
        let missing = try faults(at: socket)
        let all = state.withLock { $0.acknowledged }
        guard missing.isEmpty else {
            throw TestFailure(
                "\(when): \(missing.count) of \(all.count) changes that were acknowledged are not there: \(missing.prefix(5).joined(separator: ", "))"
            )
        }
        return all.count
    }

    /// What a daemon does not have as it was acknowledged.
    func faults(at socket: String) throws -> [String] {
        var connection = try BlobConnection.connect(to: socket)
        let all = state.withLock { $0.acknowledged }
        var faults: [String] = []
        for (number, isThere) in all.sorted(by: { $0.key < $1.key }) {
            let found = try content(number, &connection)
            if found != (isThere ? body(number) : nil) {
                faults.append("\(id(number)) (\(isThere ? "published" : "deleted"))")
            }
        }
        return faults
    }

    private func content(
        _ number: Int, _ connection: inout BlobConnection
    ) throws(ClientError) -> [UInt8]? {
        do throws(ClientError) {
            return try connection.get(id(number)).bytes
        } catch {
            if case .notFound = error { return nil }
            throw error
        }
    }

    /// The ids of what is there as far as was acknowledged, and is not at a daemon.
    func missingIDs(at socket: String) throws -> [String] {
        try faults(at: socket).compactMap { $0.split(separator: " ").first.map { String($0) } }
    }
}
