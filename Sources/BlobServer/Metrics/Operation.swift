import BlobProtocol

/// What a request asks for, as metrics and logs name it.
package enum Operation: String, CaseIterable, Sendable {
    /// A payload's bytes: by its notification, by digest or by a signed link.
    case fetch
    /// A payload or a whole notification is stored.
    case publish
    /// Many notifications in one request.
    case batch
    /// A notification's record is read.
    case record
    case patch
    case delete
    /// A page of records: all of them, or an owner's.
    case list
    /// A page of an owner's changes that is there.
    case changes
    /// A page of changes that was waited for.
    case wait
    /// A stream of changes: counted when it begins.
    case watch
    /// An answer of a user to a notification's action.
    case respond
    /// A push is composed.
    case envelope
    /// A blob is held, or asked about.
    case blob
    /// Categories are read or written.
    case category
    case stats
    case metrics
    /// The description of the HTTP interface.
    case openapi
    /// `/livez`, `/readyz`, ping and hello.
    case probe
    /// A backup: counted when it begins.
    case backup
    /// Reading the store again is begun, or asked about.
    case scrub
    /// The replication is asked about, or this daemon is to take the lead.
    case replication
    /// What could not be read, or names no resource.
    case unknown

    /// Whether its time is the daemon's, and not how long a client chose to wait or to read.
    package var isTimed: Bool {
        switch self {
        case .wait, .watch, .backup, .replication: false
        default: true
        }
    }
}
