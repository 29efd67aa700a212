/// What opening a store found in its log (`changes.log`).
public enum LogNotice: Sendable, Hashable, CustomStringConvertible {
    /// Changes that were acknowledged and only in the log were committed.
    case replayed(changes: Int)
    /// The last record was not whole. It was being written when the process ended; or it was
    /// acknowledged, and damaged later.
    case lastRecordDropped
    /// The log could not be used, and the store was opened without it (``StoreOptions/discardsLog``).
    case discarded(reason: String)

    /// What it means.
    public var description: String {
        switch self {
        case .replayed(let changes): "Replayed \(changes) changes from changes.log"
        case .lastRecordDropped:
            "Dropped the incomplete last record of changes.log: an interrupted write, or an acknowledged change that was damaged later"
        case .discarded(let reason): "Opened without changes.log: \(reason)"
        }
    }
}
