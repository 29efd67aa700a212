import Glibc
import Synchronization

/// A user who is connected, and what all his connections have together. The bodies' counts change under
/// ``BodyMemory``'s lock.
final class Peer: Sendable {
    /// The user's number (`SO_PEERCRED`).
    let userID: UInt32
    /// Memory that is reserved for his bodies, in bytes.
    let bodyByteCount = Atomic<Int>(0)
    let spoolCount = Atomic<Int>(0)
    let waitingBodyCount = Atomic<Int>(0)
    /// His connections that may come to drain (``DrainSlots``).
    let drainSlotCount = Atomic<Int>(0)

    init(userID: UInt32) {
        self.userID = userID
    }
}

extension Atomic<Int> {
    /// The value, which its owner keeps in order by other means.
    var now: Int { load(ordering: .relaxed) }

    func change(by difference: Int) { add(difference, ordering: .relaxed) }
}

/// Which users may connect. The file's mode decides first. When the operator names a group for it, that is the rule.
/// Otherwise the mode could be too wide by accident, so only the daemon's own user, root and users named with
/// `--allow-uid` are served.
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

    /// Whether a user may be served; nil, a user the kernel does not name, may not.
    func allows(_ userID: UInt32?) -> Bool {
        guard let userID else { return false }
        return trustsMode || allowed.contains(userID)
    }
}
