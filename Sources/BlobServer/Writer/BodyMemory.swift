import Synchronization

/// How long a body is, as far as its memory goes. Each kind may use what the longer ones may, and one
/// share more.
enum BodyKind: Int, CaseIterable, Comparable {
    /// All of it is here, so no client can delay it.
    case whole
    /// It is known to be short, or is so far.
    case short
    case long

    static func < (left: BodyKind, right: BodyKind) -> Bool { left.rawValue < right.rawValue }
}

/// The memory for bodies on their way into the store and the files that long ones are spooled to,
/// shared by all connections.
///
/// A body reserves memory as its bytes come (``BodyReservation``). If it cannot grow in memory, it goes
/// on in a file. If no file is free either, it waits in a queue (``BodyMemoryQueue``), and its connection
/// is not read. Its worker refuses it when it has waited as long as it may.
final class BodyMemory: Sendable {
    /// The memory is cut into this many shares: one is kept for bodies that are whole when they are looked at, one for
    /// those and the short ones; all have the rest.
    private static let shareCount = 4
    /// Bodies that wait for memory or a file at once; others are refused immediately.
    private static let waitingCountMax = 1_024

    struct Limits: Sendable {
        /// Memory, in bytes.
        var byteCountMax: Int
        /// Files that bodies are spooled to.
        var spoolCountMax: Int
        /// Bodies that may wait.
        var waitingCountMax = BodyMemory.waitingCountMax

        /// How much memory may be reserved in all when a body of this kind gets some, in bytes.
        func ceiling(_ kind: BodyKind) -> Int {
            let share = byteCountMax / BodyMemory.shareCount
            switch kind {
            case .whole: return byteCountMax
            case .short: return byteCountMax - share
            case .long: return byteCountMax - 2 * share
            }
        }
    }

    /// What a body waits for.
    struct Need: Equatable {
        /// Memory to have in all, in bytes; nil: only a file.
        var byteCount: Int?
        var kind: BodyKind
        /// Whether a file will do.
        var takesSpool: Bool
    }

    /// What those who wait need in all.
    struct Wanted: Equatable {
        var byteCount = 0
        var spoolCount = 0

        var isNothing: Bool { byteCount <= 0 && spoolCount <= 0 }
    }

    private let queue: Mutex<BodyMemoryQueue>
    /// How many bodies wait, to be read without the lock.
    private let waiting = Atomic<Int>(0)

    init(_ limits: Limits) { queue = Mutex(BodyMemoryQueue(limits)) }

    var limits: Limits { queue.withLock { $0.limits } }

    /// Changes how much there is. What is reserved stays; bodies that wait get what is free now.
    func change(byteCountMax: Int) {
        changeThenServe { $0.limits.byteCountMax = byteCountMax }
    }

    /// Memory that is reserved, in bytes.
    var byteCountReserved: Int { queue.withLock { $0.byteCount } }
    /// Files that are taken.
    var spoolCountTaken: Int { queue.withLock { $0.spoolCount } }
    /// Whether a body waits. One load.
    var isWanted: Bool { waiting.now > 0 }
    /// What those who wait need.
    var wanted: Wanted { queue.withLock { $0.wanted } }

    /// Whether so much was reserved, and is not any more, that memory should be returned to the system.
    func takeShouldTrim() -> Bool { queue.withLock { $0.takeShouldTrim() } }

    // MARK: - For reservations

    func grow(_ reservation: BodyReservation, to byteCount: Int, _ kind: BodyKind) -> Bool {
        queue.withLock { $0.grow(reservation, to: byteCount, kind) }
    }

    func takeSpool(_ reservation: BodyReservation) -> Bool {
        queue.withLock { $0.takeSpool(reservation) }
    }

    func wait(_ reservation: BodyReservation, for need: Need) -> BodyReservation.Wait {
        queue.withLock { queue in
            defer { waiting.store(queue.waitingCount, ordering: .relaxed) }
            return queue.wait(reservation, for: need)
        }
    }

    func cancel(_ reservation: BodyReservation) -> Bool {
        // Others may have had to wait behind it.
        changeThenServe { $0.cancel(reservation) }
    }

    func release(_ byteCount: Int, _ spoolCount: Int, of peer: Peer) {
        guard byteCount > 0 || spoolCount > 0 else { return }
        changeThenServe { $0.release(byteCount, spoolCount, of: peer) }
    }

    private func changeThenServe<Result>(_ change: (inout BodyMemoryQueue) -> Result) -> Result {
        let (result, granted) = queue.withLock { queue in
            defer { waiting.store(queue.waitingCount, ordering: .relaxed) }
            return (change(&queue), queue.serve())
        }
        for reservation in granted { reservation.connection.post(.memoryGranted) }
        return result
    }
}
