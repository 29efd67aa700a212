import BlobStore

/// How a daemon is to run, checked.
struct DaemonOptions: Sendable {
    var dataPath: String
    var socketPath: String
    /// The socket's permission bits.
    var socketMode: UInt32 = 0o660
    /// The socket's group; nil: the daemon's own, and users are checked one by one.
    var socketGroup: UInt32?
    var allowedUserIDs: [UInt32] = []
    var workerCount = 1
    var mapByteCountMax = StoreLimits.mapByteCountDefault
    /// Whether it starts without a log that is missing or damaged.
    var discardsLog = false
    var limits = DaemonLimits()

    /// How many workers there may be.
    static let workerCountMax = 64
}
