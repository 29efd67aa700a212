/// Which log belongs to a store. It is made anew whenever a process begins to log, and told to
/// nobody: bytes that somebody has published cannot be taken for a record where old ones lie behind
/// new ones in the log.
struct LogID: Equatable {
    let high: UInt64
    let low: UInt64

    static func random() -> LogID {
        LogID(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
    }
}
