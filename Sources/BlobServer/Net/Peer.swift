import Glibc
import Synchronization

/// A connected user, with totals over the user's connections. The counts for bodies change under the lock of
/// ``BodyMemory``.
final class Peer: Sendable {
    /// The user's number (`SO_PEERCRED`).
    let userID: UInt32
    /// Memory reserved for the user's bodies, in bytes.
    let bodyByteCount = Atomic<Int>(0)
    let spoolCount = Atomic<Int>(0)
    let waitingBodyCount = Atomic<Int>(0)
    /// The user's connections that may have to drain (``DrainSlots``).
    let drainSlotCount = Atomic<Int>(0)

    init(userID: UInt32) {
        self.userID = userID
    }
}

extension Atomic<Int> {
    /// The value. Its owner orders accesses by other means.
    var now: Int { load(ordering: .relaxed) }

    func change(by difference: Int) { add(difference, ordering: .relaxed) }
}

/// Which users may connect. The mode of the socket's file comes first. If the operator names a group for it, nothing
/// else is checked. Otherwise the mode could be too wide by accident, so only the daemon's own user, root and users
/// named with `--allow-uid` are served.
struct PeerPolicy: Sendable {
    private var allowed: Set<UInt32> = []
    private let trustsMode: Bool

    init(allowedUserIDs: [UInt32], trustsMode: Bool) {
        self.trustsMode = trustsMode
        allow(allowedUserIDs)
    }

    mutating func allow(_ userIDs: [UInt32]) {
        allowed = Set(userIDs + [0, geteuid()])
    }

    /// Whether a user may be served. A user that the kernel does not name (nil) may not.
    func allows(_ userID: UInt32?) -> Bool {
        guard let userID else { return false }
        return trustsMode || allowed.contains(userID)
    }
}
