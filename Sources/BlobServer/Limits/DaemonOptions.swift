package import BlobStore
import Glibc
package import Logging

package struct DaemonOptions: Sendable {
    package var dataPath: String
    package var socketPath: String
    package var socketMode: UInt32 = 0o660
    /// The socket's group; nil: the daemon's own, and each user is checked.
    package var socketGroup: UInt32?
    package var allowedUserIDs: [UInt32] = []
    /// The socket that only serves devices; nil: there is none.
    package var deviceSocketPath: String?
    package var deviceSocketMode: UInt32 = 0o660
    package var deviceSocketGroup: UInt32?
    /// The file with the signing keys of links; nil: no link is valid.
    package var signingKeyPath: String?
    /// The path of the access log, `-` for standard output; nil: no log.
    package var accessLogPath: String?
    package var accessLogFormat = AccessLogFormat.json
    package var logFormat = LogFormat.auto
    package var workerCount = 1
    /// The options for opening the store. A reload applies those that can change.
    package var store = StoreOptions()
    package var replica = ReplicaOptions()
    package var limits = DaemonLimits()
    package var logLevel = Logger.Level.info

    package init(dataPath: String, socketPath: String) {
        self.dataPath = dataPath
        self.socketPath = socketPath
    }

    package static let workerCountMax = 64

    /// The store's options, including limits that the daemon checks, too.
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
    /// The shard that this daemon may create: `s3://bucket/prefix`.
    package var replicate: String?
    /// The shard that this daemon only joins.
    package var follow: String?
    /// What a change waits for if its request does not say.
    package var acknowledgement = Acknowledgement.local
    /// The allowed age of the oldest change that is not in the bucket, in milliseconds.
    package var unreplicatedMillisecondsMax = 60_000
    /// The allowed size of changes that are not in the bucket.
    package var unreplicatedByteCountMax = 1 << 30
    /// How long a follower finds nothing new before it takes the lead; nil: only on request.
    package var autoPromoteMilliseconds: Int?
    /// The time between bases, in milliseconds.
    package var baseIntervalMilliseconds = 86_400_000
    /// How far back the shard can be restored, in milliseconds.
    package var retentionMilliseconds = 7 * 86_400_000
    /// From this many used bytes on, the store evicts long payloads; nil: never.
    package var localByteCountMax: Int?
    /// The name under which clients on other hosts can reach this one; nil: the host's name.
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
    /// `journal` if standard error is connected to the journal, otherwise `text`.
    case auto
    case text
    case json
    case journal
}

package let blobdVersion = "0.2.0"
