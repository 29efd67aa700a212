import Glibc
import Synchronization

/// Where racers wait for one another before each name, and leave what came of it.
final class RaceTrack: Sendable {
    private let racerCount: Int
    private let arrived = Atomic(0)
    private let isAbandoned = Atomic(false)
    private let state: Mutex<State>

    private struct State {
        var outcomes: [[CreateOutcome?]]
        var error: ObjectStoreError?
    }

    init(racerCount: Int, nameCount: Int) {
        self.racerCount = racerCount
        state = Mutex(
            State(
                outcomes: Array(
                    repeating: Array(repeating: nil, count: racerCount), count: nameCount)))
    }

    /// Waits until all racers are here for the name of this index: they come to each, also after an error.
    func waitForStart(of index: Int) {
        arrived.wrappingAdd(1, ordering: .acquiringAndReleasing)
        let wanted = (index + 1) * racerCount
        while arrived.load(ordering: .acquiring) < wanted, !isAbandoned.load(ordering: .relaxed) {
            usleep(20)
        }
    }

    /// Lets everyone go on: not all racers could be started.
    func abandon() { isAbandoned.store(true, ordering: .relaxed) }

    /// Whether racers should ask no more.
    var isOver: Bool {
        isAbandoned.load(ordering: .relaxed) || state.withLock { $0.error != nil }
    }

    func put(
        _ result: Result<CreateOutcome, ObjectStoreError>?, name: Int, racer: Int
    ) {
        state.withLock { state in
            switch result {
            case .success(let outcome)?: state.outcomes[name][racer] = outcome
            case .failure(let error)?: state.error = state.error ?? error
            case nil: break
            }
        }
    }

    var outcomes: [[CreateOutcome?]] { state.withLock { $0.outcomes } }
    var error: ObjectStoreError? { state.withLock { $0.error } }
}

/// A client that its racer's thread alone uses.
final class RacingClient: @unchecked Sendable {
    private let client: ObjectClient

    init(_ client: ObjectClient) { self.client = client }

    /// nil: the race is over.
    func put(
        _ name: String, racer: Int, _ track: RaceTrack
    ) -> Result<CreateOutcome, ObjectStoreError>? {
        guard !track.isOver else { return nil }
        let bytes = ConditionalWriteProbe.bytes(racer: racer, name: name)
        do throws(ObjectStoreError) {
            return .success(try client.create(name, bytes.span.bytes))
        } catch {
            return .failure(error)
        }
    }
}
