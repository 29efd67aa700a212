/// The daemon's flags that scenarios use, so that a name stands in one place.
enum DaemonFlag {
    /// Connections that may be open.
    static let connections = "--max-connections"
    /// The least rate of bodies and answers, in bytes per second.
    static let rate = "--min-rate"
    /// Over how long that rate is measured.
    static let rateWindow = "--rate-window"
    /// How long a stop waits for answers under way.
    static let drain = "--drain-timeout"
    /// How long a connection may be idle.
    static let idle = "--idle-timeout"
    /// Free space that stays allocated.
    static let keepFree = "--keep-free"
    /// How long after a start nothing is freed that an earlier run may have sent.
    static let grace = "--zero-copy-grace"
    /// How often what has expired is removed.
    static let sweep = "--sweep-interval"
    /// How long a stream of changes is quiet before it gives a sign of life.
    static let heartbeat = "--heartbeat"
    /// Watchers of one owner.
    static let watchersOfOwner = "--max-watchers-per-owner"
}
