import Glibc

/// Which users may connect.
///
/// The file's mode decides first: the kernel lets nobody connect who may not write to the socket.
/// When the operator names a group for it, that is the rule, and members of the group need not be
/// listed. Otherwise the mode alone could be too wide by accident, so only the daemon's own user,
/// root and users named with `--allow-uid` are served.
struct PeerPolicy: Sendable {
    private var allowed: Set<UInt32> = []
    private let trustsMode: Bool

    /// The policy for these options.
    init(allowedUserIDs: [UInt32], trustsMode: Bool) {
        self.trustsMode = trustsMode
        allow(allowedUserIDs)
    }

    /// Changes who may connect, besides root and the daemon's own user.
    mutating func allow(_ userIDs: [UInt32]) {
        allowed = Set(userIDs + [0, geteuid()])
    }

    /// Whether a user may be served; nil, a user the kernel does not name, may not.
    func allows(_ userID: UInt32?) -> Bool {
        guard let userID else { return false }
        return trustsMode || allowed.contains(userID)
    }
}
