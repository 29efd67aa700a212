import BlobProtocol
import BlobServer
import BlobStore
import Glibc

extension Setting {
    private static let day = 86_400_000
    private static let byteCountMax = 1 << 46

    static let sections: [(title: String, settings: [Setting])] = [
        ("Store and sockets", place), ("Devices", devices), ("Payloads and notifications", content),
        ("Quotas", quotas),
        ("Connections and memory", connections), ("Feeds", feeds), ("Running", running),
        ("Replication", replication), ("Logs", logs),
    ]

    private static let place: [Setting] = [
        .one(
            "data", .directory, \.dataPath, .atStart,
            "The store's directory. Created if missing. Required."),
        .one(
            "socket", .file, \.socketPath, .atStart, "The path of the socket. Required."),
        .one(
            "socket-mode", .mode, \.socketMode, .atStart,
            "The socket's permission bits."),
        .optional(
            "socket-group", .group, \.socketGroup, .atStart,
            "The socket's group, whose members may connect."),
        .list(
            "allow-uid", .user, \.allowedUserIDs, .live,
            "A user id that may connect, besides root, the daemon's own and the socket's group. Repeatable."
        ),
        .one(
            "map-size", .size(StoreLimits.mapByteCountRange), \.store.mapByteCountMax, .atStart,
            "Maximum size of the store's file."),
        .one(
            "scrub-days", .count(0...3_650, of: "days"), \.limits.scrubDays, .live,
            "Reread the whole store within this many days, to find damage. 0: off."),
        .one(
            "write-ahead-log", .flag, \.limits.isLogging, .atStart,
            """
            Acknowledge short changes when they are in the write-ahead log (changes.log), and commit them \
            within a second. Without it, each batch is committed first.
            """),
        .one(
            "keep-free", .size(0...byteCountMax), \.store.freeAllocatedByteCountMin, .live,
            "Free space that stays allocated in data.mdb: at least this, and 1/24 of the space in use."
        ),
    ]

    private static let devices: [Setting] = [
        .optional(
            "signing-keys", .file, \.signingKeyPath, .live,
            "The file with the keys of signed links and device tokens: see blobd sign --new-key."),
        .optional(
            "link-base", .site, \.limits.linkBase, .live,
            "Put signed links (richUrl) to this address into pushes, such as https://push.example.com."
        ),
        .optional(
            "link-ttl", .lifetime(1...36_500 * 86_400), \.limits.linkTTLSeconds, .live,
            default: "that of the notification", "Maximum TTL of the links in pushes."),
        .optional(
            "device-socket", .file, \.deviceSocketPath, .atStart,
            "A second socket, for nginx, which serves only devices (/d/…) and /livez."),
        .one(
            "device-socket-mode", .mode, \.deviceSocketMode, .atStart,
            "The device socket's permission bits."
        ),
        .optional(
            "device-socket-group", .group, \.deviceSocketGroup, .atStart,
            "The device socket's group: nginx's."),
    ]

    private static let content: [Setting] = [
        .one(
            "max-payload", .size(1...StoreLimits.payloadByteCountMax),
            \.limits.payloadByteCountMax, .live, "Maximum payload size."),
        .one(
            "max-ttl", .lifetime(1...36_500 * 86_400), \.limits.ttlSecondsMax, .live,
            "Maximum TTL."),
        .optional(
            "default-ttl", .lifetime(1...36_500 * 86_400), \.limits.explicitDefaultTTLSeconds,
            .live, default: "30d, or --max-ttl if that is less", "Default TTL."),
        .one(
            "require-if-match", .flag, \.limits.requiresIfMatch, .live,
            "Refuse a PATCH without If-Match (428), to prevent lost updates."),
        .optional(
            "profile", .word("profile"), \.limits.profile, .live,
            """
            Refuse parts whose media type or size these devices do not accept: see Profiles in HTTP.md.
            """),
        .one(
            "sweep-interval", .time(1...day), \.limits.sweepMilliseconds, .live,
            "Interval between removals of expired payloads."),
    ]

    private static let quotas: [Setting] = [
        .one(
            "max-bytes", .size(0...1 << 60), \.store.quotas.byteCountMax, .live,
            "Maximum bytes of all payloads, as stored (507). 0: no limit."),
        .one(
            "max-notifications", .count(0...1 << 60), \.store.quotas.notificationCountMax, .live,
            "Maximum number of notifications (507). 0: no limit."),
        .one(
            "owner-max-bytes", .size(0...1 << 60), \.store.quotas.ownerByteCountMax, .live,
            "Maximum bytes of one owner's payloads, as published (429). 0: no limit."),
        .one(
            "owner-max-notifications", .count(0...1 << 60),
            \.store.quotas.ownerNotificationCountMax, .live,
            "Maximum number of one owner's notifications (429). 0: no limit."),
        .one(
            "min-free-disk", .size(0...1 << 60), \.store.quotas.freeDiskByteCountMin, .live,
            "Refuse publishes (507) while the file system has less free space. 0: no limit."),
    ]

    private static let connections: [Setting] = [
        .one(
            "max-connections", .count(1...1_000_000), \.limits.connectionCountMax, .live,
            "Maximum number of connections. With a device-socket, 1/8 is reserved for each socket."
        ),
        .one(
            "body-memory", .size(StoreLimits.payloadInMemoryByteCountMax...1 << 40),
            \.limits.bodyMemoryByteCountMax, .live,
            "Memory for request bodies."),
        .one(
            "answer-memory", .size(1 << 20...1 << 40), \.limits.answerMemoryByteCountMax, .live,
            "Memory for unread answers."),
        .one(
            "head-timeout", .time(1...day), \.limits.headMilliseconds, .live,
            "Maximum time for the head of a request."),
        .one(
            "idle-timeout", .time(1...day), \.limits.idleMilliseconds, .live,
            "Maximum idle time of a connection."),
        .one(
            "min-rate", .size(0...1 << 30), \.limits.rateMin, .live,
            "Minimum rate of bodies and answers, in bytes per second."),
        .one(
            "rate-window", .time(1...day), \.limits.rateWindowMilliseconds, .live,
            "The window over which --min-rate is measured."),
        .one(
            "sendfile-min", .size(0...1 << 40), \.limits.linkedByteCountMin, .atStart,
            "Minimum size for zero-copy send (sendfile). 0 disables it, for clients that splice."),
        .optional(
            "zero-copy-grace", .time(0...day), \.limits.explicitZeroCopyGraceMilliseconds,
            .atStart,
            default:
                "the time in which a client reads a full socket at --min-rate, at least a minute",
            isHidden: true,
            "How long payloads that an earlier run may have sent are kept after its end."),
    ]

    private static let feeds: [Setting] = [
        .one(
            "max-watchers", .count(0...1_000_000), \.store.watcherCountMax, .live,
            "Maximum number of watchers: waiting calls, event streams and watches."),
        .one(
            "max-watchers-per-owner", .count(0...1_000_000), \.store.watcherCountPerOwnerMax,
            .live, "Maximum number of watchers of one owner."),
        .optional(
            "max-watchers-per-peer", .count(0...1_000_000), \.store.watcherCountPerPeerMax,
            .live, default: "3/4 of all", "Maximum number of watchers of one peer, by its user id."),
        .one(
            "heartbeat", .time(1...day), \.limits.heartbeatMilliseconds, .live,
            "Heartbeat interval of event streams and watches."),
        .one(
            "tombstone-retention", .time(0...36_500 * Int64(day)),
            \.store.tombstoneRetentionMilliseconds, .live,
            "How long deletions are remembered. An older cursor must resync."),
    ]

    private static let running: [Setting] = [
        .one(
            "workers", .count(1...DaemonOptions.workerCountMax), \.workerCount, .atStart,
            default: "one per core", "Worker threads."),
        .one(
            "spin", .count(0...1_000, of: "microseconds"), \.limits.spinMicroseconds, .live,
            "Busy-poll before blocking, in µs (0 disables)."),
        .one(
            "drain-timeout", .time(0...day), \.limits.drainMilliseconds, .live,
            "Maximum time to finish answers at a stop."),
    ]

    private static let replication: [Setting] = [
        .optional(
            "replicate", .shard, \.replica.replicate, .atStart,
            "Replicate to this prefix of an S3-compatible bucket (s3://bucket/prefix), and begin a shard if it contains none."
        ),
        .optional(
            "follow", .shard, \.replica.follow, .atStart,
            "Follow the shard at this prefix: serve reads, and lead after blobd promote."
        ),
        .one(
            "ack", .word("level"), \.replica.acknowledgement, .atStart,
            "Acknowledge a change when it is on this disk (local), or also in the bucket (replicated)."
        ),
        .one(
            "max-unreplicated", .time(1_000...day), \.replica.unreplicatedMillisecondsMax, .atStart,
            "Refuse changes while the oldest one that is not in the bucket is older than this."),
        .one(
            "max-unreplicated-bytes", .size(1 << 20...byteCountMax),
            \.replica.unreplicatedByteCountMax, .atStart,
            "Refuse changes while more bytes than this are not in the bucket."),
        .optional(
            "auto-promote", .time(10_000...day), \.replica.autoPromoteMilliseconds, .atStart,
            "As a follower, take the lead when the leader has given no sign of life for this long; local changes may be lost. A leader gives one every 5.2 s."
        ),
        .one(
            "base-interval", .time(60_000...365 * day), \.replica.baseIntervalMilliseconds,
            .atStart,
            "Write a base, a full copy of the tables, to the bucket at least this often."
        ),
        .one(
            "retention", .time(60_000...3_650 * day), \.replica.retentionMilliseconds, .atStart,
            """
            How far back the shard can be restored. Expired payloads stay in the bucket this long, and up to \
            one base-interval more.
            """),
        .optional(
            "local-bytes", .size(0...byteCountMax), \.replica.localByteCountMax, .atStart,
            """
            Keep about this much of the store here. Beyond it, payloads over 64 KiB that the bucket has are \
            evicted, oldest first, and fetched again on request.
            """),
        .optional(
            "advertise", .line, \.replica.name, .atStart, default: "the host's name",
            "How other hosts refer to this daemon when it leads: a name or an address."),
    ]

    private static let logs: [Setting] = [
        .one(
            "log-level", .word("level"), \.logLevel, .live,
            "The least severe messages that are logged."),
        .one(
            "log-format", .word("format"), \.logFormat, .atStart,
            "Format of the log on standard error. auto: journal (with fields) under systemd's journal, else text."
        ),
        .optional(
            "access-log", .file, \.accessLogPath, .atStart,
            "Log each request to this file; - is standard output. SIGHUP reopens it."),
        .one(
            "access-log-format", .word("format"), \.accessLogFormat, .atStart,
            "Format of the access log."),
        .one(
            "slow-ms", .count(0...day, of: "milliseconds"), \.limits.slowMilliseconds, .live,
            "Log requests that take longer, as warnings. 0: none."),
    ]
}
