import BlobStore
package import Logging

/// How a daemon is to run, checked.
package struct DaemonOptions: Sendable {
    package var dataPath: String
    package var socketPath: String
    /// The socket's permission bits.
    package var socketMode: UInt32 = 0o660
    /// The socket's group; nil: the daemon's own, and users are checked one by one.
    package var socketGroup: UInt32?
    package var allowedUserIDs: [UInt32] = []
    /// The socket that answers devices' links only; nil: there is none.
    package var deviceSocketPath: String?
    package var deviceSocketMode: UInt32 = 0o660
    package var deviceSocketGroup: UInt32?
    /// The file with the keys that verify links; nil: no link is valid.
    package var signingKeyPath: String?
    /// Where requests are logged, `-` for standard output; nil: nowhere.
    package var accessLogPath: String?
    package var accessLogFormat = AccessLogFormat.json
    package var logFormat = LogFormat.auto
    package var workerCount = 1
    package var mapByteCountMax = StoreLimits.mapByteCountDefault
    /// Whether it starts without a log that is missing or damaged.
    package var discardsLog = false
    package var replica = ReplicaOptions()
    package var limits = DaemonLimits()
    package var logLevel = Logger.Level.info

    package init(dataPath: String, socketPath: String) {
        self.dataPath = dataPath
        self.socketPath = socketPath
    }

    /// How many workers there may be.
    package static let workerCountMax = 64
}
