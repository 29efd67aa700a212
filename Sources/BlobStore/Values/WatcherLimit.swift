/// A limit of watchers. The raw value is its name: the daemon's flag is the same with two dashes.
public enum WatcherLimit: String, Sendable, Hashable {
    /// Of all together.
    case total = "max-watchers"
    /// Of one owner.
    case owner = "max-watchers-per-owner"
    /// Of one peer.
    case peer = "max-watchers-per-peer"

    /// For a person.
    var words: String {
        switch self {
        case .total: "watcher limit"
        case .owner: "watcher limit per owner"
        case .peer: "watcher limit per peer"
        }
    }
}
