/// When a notification ends.
public enum Expiry: Sendable, Hashable {
    /// At this moment, which must not be past.
    case at(Timestamp)
    /// So many seconds after the moment of the change (`asOf`), at least 1. A notification that is
    /// created so has exactly so many seconds between its creation and its end.
    case after(seconds: Int64)
    /// When it ends already; for a notification that is not there, at this moment.
    case keep(otherwise: Timestamp)
    /// When it ends already; for a notification that is not there, so many seconds after the moment
    /// of the change.
    case keepOrAfter(seconds: Int64)
}

extension Expiry {
    /// When that is.
    ///
    /// - Parameters:
    ///   - present: when the notification that is there ends; nil: there is none.
    ///   - now: the moment of the change.
    func moment(keeping present: Timestamp?, asOf now: Timestamp) -> Timestamp {
        switch self {
        case .at(let moment): moment
        case .after(let seconds): now.adding(seconds: seconds)
        case .keep(let otherwise): present ?? otherwise
        case .keepOrAfter(let seconds): present ?? now.adding(seconds: seconds)
        }
    }
}
