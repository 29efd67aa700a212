import BlobClient
import BlobProtocol
import Synchronization
import TestSupport

/// Publishes notifications at a rate, one after the other, and does not wait for the bucket.
final class PacedPublisher: Sendable {
    struct Figures: Sendable {
        var acknowledged = 0
        /// Refused because too much is not in the bucket.
        var refused = 0
        /// In microseconds.
        var p99 = 0
    }

    private struct State {
        var count = 0
        /// When each was acknowledged, in nanoseconds, in their order.
        var acknowledged: [(id: String, at: Int)] = []
    }

    private let name: String
    private let microseconds: Int
    private let byteCount: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - microseconds: from one to the next.
    ///   - byteCount: of a payload, at least; it begins with its id.
    init(_ name: String = "paced", every microseconds: Int = 2_000, byteCount: Int = 0) {
        self.name = name
        self.microseconds = microseconds
        self.byteCount = byteCount
    }

    var acknowledgedCount: Int { state.withLock { $0.acknowledged.count } }
    var lastID: String { state.withLock { $0.acknowledged.last?.id ?? "" } }

    /// One that was acknowledged; nil: not so many were yet.
    func acknowledged(_ index: Int) -> (id: String, at: Int)? {
        state.withLock { index < $0.acknowledged.count ? $0.acknowledged[index] : nil }
    }

    /// The payload of an id.
    func body(_ id: String) -> [UInt8] {
        let text = Array(id.utf8)
        return text + [UInt8](repeating: 0x2E, count: max(0, byteCount - text.count))
    }

    /// Publishes for a while, or until it is told to stop.
    func run(
        at socket: String, milliseconds: Int, until stop: StopSign = StopSign()
    ) throws -> Figures {
        var connection = try BlobConnection.connect(to: socket)
        var (figures, times) = (Figures(), [Int]())
        let begin = Clock.nanoseconds()
        var turn = 0
        while Clock.nanoseconds() - begin < milliseconds * 1_000_000, !stop.isUp {
            let id = state.withLock { state in
                state.count += 1
                return "\(name)-\(state.count)"
            }
            let start = Clock.nanoseconds()
            if try publish(id, &connection) {
                figures.acknowledged += 1
                times.append((Clock.nanoseconds() - start) / 1_000)
            } else {
                figures.refused += 1
            }
            // By the clock and not by pauses, so that the rate holds. What was late by a tenth of a second is left out.
            turn += 1
            let rest = turn * microseconds - (Clock.nanoseconds() - begin) / 1_000
            if rest > 0 { Clock.pause(microseconds: rest) }
            if rest < -100_000 { turn += -rest / microseconds }
        }
        times.sort()
        figures.p99 = times.isEmpty ? 0 : times[times.count * 99 / 100]
        return figures
    }

    /// - Returns: false when it was refused because too much is not replicated.
    private func publish(_ id: String, _ connection: inout BlobConnection) throws -> Bool {
        let request = PutRequest(
            id: id, mediaType: "application/octet-stream", lifetime: .seconds(7 * 86_400))
        do throws(ClientError) {
            _ = try connection.put(request, body(id).span.bytes)
        } catch {
            guard case .refused(let problem) = error, problem.code == "unreplicated" else {
                throw error
            }
            return false
        }
        let now = Clock.nanoseconds()
        state.withLock { $0.acknowledged.append((id, now)) }
        return true
    }

    /// How many of the acknowledged ones are not there, and how long before a moment the first of them was acknowledged,
    /// in milliseconds. None may be there behind one that is not.
    func missing(
        at socket: String, since nanoseconds: Int
    ) throws -> (count: Int, milliseconds: Int) {
        var connection = try BlobConnection.connect(to: socket)
        let all = state.withLock { $0.acknowledged }
        var first: Int?
        for (index, (id, _)) in all.enumerated() {
            let isThere = try has(id, &connection)
            if !isThere, first == nil { first = index }
            try require(!isThere || first == nil, "\(id) is there, and one before it is not")
        }
        guard let first else { return (0, 0) }
        return (all.count - first, max(0, nanoseconds - all[first].at) / 1_000_000)
    }

    /// Throws unless all that was acknowledged is there.
    func check(at socket: String) throws {
        var connection = try BlobConnection.connect(to: socket)
        for (id, _) in state.withLock({ $0.acknowledged }) {
            let found = try connection.get(id)
            try require(found.bytes == body(id), "\(id) has other bytes on the follower")
        }
    }
}

/// Whether a notification is there.
func has(_ id: String, _ connection: inout BlobConnection) throws -> Bool {
    do throws(ClientError) {
        _ = try connection.get(id)
        return true
    } catch {
        if case .notFound = error { return false }
        throw error
    }
}
