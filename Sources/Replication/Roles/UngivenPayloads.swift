internal import BlobStore
internal import Synchronization

/// Payloads that the bucket did not give to this follower when their turn came. It went on without them: their bytes stay in
/// the bucket. A request for one asks the bucket again, and so does ``look(on:)`` now and then. Where this host should have
/// all payloads, those that it lacked at the last run are among them.
///
/// Another thread than the one that follows looks, with a client of its own: an answer that never comes holds up nothing
/// else.
package final class UngivenPayloads: Sendable {
    private struct State {
        /// Those that are asked for again, the next one first.
        var all: [UngivenBlob] = []
        /// Whether there may be others, for which there was no room.
        var isPart = false
        var nextLook: Int64 = 0
        var pause = ReplicationLimits.jobPauseMilliseconds

        mutating func add(_ blobs: [UngivenBlob], countMax: Int) {
            all += blobs.prefix(max(0, countMax - all.count))
            if all.count >= countMax { isPart = true }
        }
    }

    private let store: BlobStore
    private let host: any ReplicaHost
    private let countMax: Int
    private let state: Mutex<State>

    init(_ store: BlobStore, _ host: any ReplicaHost) {
        self.store = store
        self.host = host
        countMax = host.settings.ungivenPayloadCountMax
        var state = State()
        // Damage of the store is found by others.
        if let lacking = try? Self.lacking(of: store, host) {
            state.add(lacking, countMax: countMax)
        }
        self.state = Mutex(state)
    }

    /// Payloads that are in the bucket and should be here.
    private static func lacking(
        of store: BlobStore, _ host: any ReplicaHost
    ) throws(StoreError) -> [UngivenBlob] {
        guard host.settings.localByteCountMax == nil else { return [] }
        return try store.evictedBlobs(countMax: host.settings.ungivenPayloadCountMax).map {
            UngivenBlob(blob: $0)
        }
    }

    private var all: [UngivenBlob] { state.withLock { $0.all } }

    /// Whether the bucket is known not to give some: how long that is waited for is waited once, and not for each.
    var isKnown: Bool { all.contains { $0.error != nil } }

    /// What is not here; nil: nothing.
    var problem: String? {
        let all = all
        guard let first = all.first(where: { $0.error != nil }) ?? all.first else { return nil }
        let others = all.count > 1 ? ", and \(all.count - 1) more" : ""
        guard let error = first.error else {
            return "lacks payloads that it has yet to fetch: \(first.blob.digest)\(others)"
        }
        return
            "lacks payloads that the bucket does not give: \(first.blob.digest)\(others): \(error)"
    }

    /// Why this host takes the lead by force only: whoever leads is the one that mends what the bucket has lost. nil: it
    /// lacks nothing.
    var refusal: String? {
        let all = all
        guard !all.isEmpty else { return nil }
        return
            "this host lacks payloads (\(Self.names(all))): wait until it has fetched them, publish them again to the leader, or use --force to lead without them"
    }

    /// Says what is lost with the leader before this host, which leads now.
    func noteLead() {
        let all = all
        guard !all.isEmpty else { return }
        host.log(
            .error,
            "Leading without payloads that this host lacks (\(Self.names(all))): where the bucket does not give them either, they are lost until they are published again"
        )
    }

    private static let namedCountMax = 8

    private static func names(_ all: [UngivenBlob]) -> String {
        let named = all.prefix(namedCountMax).map { "\($0.blob.digest)" }
        let others = all.count - named.count
        return named.joined(separator: ", ") + (others > 0 ? ", and \(others) more" : "")
    }

    /// - Parameter blobs: those that the store does not have, with their batches, are passed over.
    func note(_ blobs: [UngivenBlob]) {
        let blobs = blobs.filter { found in
            (try? store.isStored(found.blob.digest, number: found.blob.number)) != false
        }
        guard !blobs.isEmpty else { return }
        for found in blobs { say(found) }
        let first = host.uptime + ReplicationLimits.jobPauseMilliseconds
        state.withLock { state in
            // Those that come all the time keep no other from being looked for.
            state.nextLook = state.all.isEmpty ? first : min(state.nextLook, first)
            state.pause = ReplicationLimits.jobPauseMilliseconds
            state.add(blobs, countMax: countMax)
        }
    }

    private func say(_ found: UngivenBlob) {
        guard let error = found.error else { return }
        host.log(
            .error,
            "The bucket does not give \(found.blob.digest) (\(error)): continuing without it. It is fetched when somebody asks for it, or when the bucket gives it.\(error.remedy)"
        )
    }

    /// Asks for one of them again, when it is time: one request, for which the caller's client decides how long it takes.
    ///
    /// - Returns: whether the next one may be asked for at once.
    package func look(on bucket: any Bucket) throws -> Bool {
        let now = host.uptime
        // It stays among them meanwhile: this host lacks it.
        let first = state.withLock { now >= $0.nextLook ? $0.all.first : nil }
        guard let first else { return false }
        do {
            let isDone = try fetch(first.blob, on: bucket)
            try finish(isDone ? nil : first, pause: ReplicationLimits.jobPauseMilliseconds)
            return isDone
        } catch ReplicationError.stopped {
            throw ReplicationError.stopped
        } catch let error as ReplicationError where error.isOfOneObject {
            var next = first
            do throws(ReplicationError) {
                // A bucket that is away says nothing of its objects.
                _ = try StoreDocument.read(on: bucket)
                next.error = error
                if first.error == nil { say(next) }
            } catch {
                try finish(first, pause: nil)
                throw error
            }
            try finish(next, pause: nil)
            return false
        } catch {
            try finish(first, pause: nil)
            guard case StoreError.full = error else { throw error }
            return false
        }
    }

    /// Returns whether it is here, or nothing refers to it any more.
    private func fetch(_ blob: BlobReference, on bucket: any Bucket) throws -> Bool {
        guard try store.isStored(blob.digest, number: blob.number) else { return true }
        let bytes = try LongBlobs.bytes(of: blob, in: store.id, on: bucket)
        let outcome = try host.write { (store) throws(StoreError) in
            try store.putBack(blob, bytes)
        }
        if outcome == .stored { host.log(.notice, "The bucket gives \(blob.digest) again") }
        return outcome != .later
    }

    /// Takes the first one away.
    ///
    /// - Parameters:
    ///   - again: it, where it is asked for again when all others were.
    ///   - pause: before that; nil: twice as long as before.
    private func finish(_ again: UngivenBlob?, pause: Int64?) throws(StoreError) {
        let isLast = again == nil && state.withLock { $0.isPart && $0.all.count == 1 }
        // Before it is taken away: until then this host is known to lack some.
        let others = isLast ? try Self.lacking(of: store, host) : []
        let now = host.uptime
        state.withLock { state in
            // What was noted meanwhile may have had no room either.
            if isLast, state.all.count == 1 { state.isPart = false }
            state.all.removeFirst()
            if isLast { state.add(others, countMax: countMax) }
            if let again { state.all.append(again) }
            if let pause {
                state.pause = pause
            } else {
                state.pause = min(2 * state.pause, ReplicationLimits.jobPauseMillisecondsMax)
                state.nextLook = now + state.pause
            }
        }
    }
}
