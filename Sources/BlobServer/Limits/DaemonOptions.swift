package import BlobStore
import Glibc
package import Logging

package struct DaemonOptions: Sendable {
    package var dataPath: String
    package var socketPath: String
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
    /// How the store is opened; what may change in it changes with a reload.
    package var store = StoreOptions()
    package var replica = ReplicaOptions()
    package var limits = DaemonLimits()
    package var logLevel = Logger.Level.info

    package init(dataPath: String, socketPath: String) {
        self.dataPath = dataPath
        self.socketPath = socketPath
    }

    package static let workerCountMax = 64

    /// The store's options with those limits that the daemon checks, too.
    var storeOptions: StoreOptions {
        var options = store
        options.payloadByteCountMax = limits.payloadByteCountMax
        return options
    }
}

package enum Acknowledgement: String, CaseIterable, Sendable {
    case local
    case replicated
}

package struct ReplicaOptions: Sendable {
    /// The shard of a daemon that may begin it: `s3://bucket/prefix`.
    package var replicate: String?
    /// The shard of a daemon that only joins it.
    package var follow: String?
    /// What a request waits for that does not say so itself.
    package var acknowledgement = Acknowledgement.local
    /// How old the oldest change may be that is not in the bucket, in milliseconds.
    package var unreplicatedMillisecondsMax = 60_000
    /// Bytes of the changes that are not in the bucket.
    package var unreplicatedByteCountMax = 1 << 30
    /// How long a follower finds nothing new before it takes the lead; nil: it waits to be told.
    package var autoPromoteMilliseconds: Int?
    /// From one base to the next, in milliseconds.
    package var baseIntervalMilliseconds = 86_400_000
    /// How far back the shard can be restored, in milliseconds.
    package var retentionMilliseconds = 7 * 86_400_000
    /// Bytes of the store that may be in use before long payloads are evicted; nil: none is.
    package var localByteCountMax: Int?
    /// How clients of other hosts are told to reach this one; nil: the host's name.
    package var name: String?

    package init() {}

    package var shard: String? { replicate ?? follow }
}

extension ReplicaOptions {
    var hostName: String {
        if let name { return name }
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, 255) == 0 else { return "unknown" }
        return String(
            decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

package enum AccessLogFormat: String, CaseIterable, Sendable {
    case json
    case combined
}

package enum LogFormat: String, CaseIterable, Sendable {
    /// `journal` where standard error is the journal's stream, else `text`.
    case auto
    case text
    case json
    case journal
}

package let blobdVersion = "0.2.0"
