/// The daemon's flags that scenarios use, so that a name stands in one place.
enum DaemonFlag {
    /// Connections that may be open.
    static let connections = "--max-connections"
    /// The least rate of bodies and answers, in bytes per second.
    static let rate = "--min-rate"
    /// How often what has expired is removed.
    static let sweep = "--sweep-interval"
}
