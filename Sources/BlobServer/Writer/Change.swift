import BlobProtocol
import BlobStore
import Synchronization

/// What became of a request for the writer, for the connection that waits for it.
enum ChangeResult: Sendable {
    /// The change was applied, or found what the store has. A refused one is ``failed(_:)``.
    case applied(Outcome)
    /// The result of each line of a batch, in their order.
    case lines([BatchLine.Answered])
    case long(LongChange)
    /// A later step of a long change failed. What the steps before did is done.
    case stopped(LongChange, StoreError)
    /// The store can commit.
    case writable
    /// Everything that was acknowledged is committed.
    case committed
    /// This daemon leads.
    case promoted(epoch: UInt64)
    case failed(StoreError)
    /// The body is wrong, as a job found.
    case refused(ProtocolError)

    /// Whether something was done, or was so already, and not refused.
    var isChange: Bool {
        switch self {
        case .applied(.notFound): false
        case .applied, .lines, .long: true
        case .stopped, .writable, .committed, .promoted, .failed, .refused: false
        }
    }

    /// Whether it tells what the store has. A client that asked for `replicated` is told that when the bucket has
    /// it, too: a delete that finds nothing may be the second attempt of one whose answer was lost.
    var tellsState: Bool {
        switch self {
        case .applied, .lines, .long, .stopped: true
        default: false
        }
    }
}

/// A line of a batch.
struct BatchLine: Sendable {
    /// The notification's id, if the line has one.
    var id: String?
    /// Why the line is refused; nil: it is a change.
    var refused: ProtocolError?

    struct Answered: Sendable {
        var id: String?
        var result: ChangeResult
    }
}

/// A change on its way to the writer, and the connection that waits for it. It is moved, since a copy
/// would count a reference for each of its texts.
struct PendingChange: ~Copyable, Sendable {
    enum Operation: Sendable {
        case apply(CheckedChange)
        /// Each line by itself, many in one transaction: a piece of a batch, with a change for each line that is not refused,
        /// and where its results go.
        case applyAll([CheckedChange], [BatchLine], BatchResults)
        /// In steps, between which other changes are applied.
        case long(CheckedLongChange)
        case checkWritable
        case waitForCommit
        /// Take the lead of the shard. It is not the writer's: see ``ReplicaStatus``.
        case promote(isForced: Bool)
    }

    let operation: Operation
    let connection: ConnectionAddress
    /// The memory of the payload. Released when the change is committed.
    let reservation: BodyReservation?
}
