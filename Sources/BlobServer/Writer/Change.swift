import BlobProtocol
import BlobStore
import Notifications
import Synchronization

/// The result of a change, for the connection that asked for it.
enum ChangeResult: Sendable {
    case published(Record, created: Bool)
    case deleted
    case notFound
    case changed(Record)
    case unchanged(Record)
    case held(HeldBlob, created: Bool)
    case categorySet(Category, created: Bool)
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
        case .published, .deleted, .changed, .unchanged, .held, .categorySet, .lines, .long: true
        case .notFound, .stopped, .writable, .committed, .promoted, .failed, .refused: false
        }
    }

    /// Whether it tells what the store has. A client that asked for `replicated` is told that when the bucket has
    /// it, too: a delete that finds nothing may be the second attempt of one whose answer was lost.
    var tellsState: Bool {
        switch self {
        case .notFound, .stopped: true
        default: isChange
        }
    }

    var isCategoryEdit: Bool {
        switch self {
        case .categorySet, .deleted: true
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

/// Everything a publish says but its bytes.
struct PublicationDraft: Sendable {
    var texts: NotificationTexts
    var part: PartName
    var mediaType: MediaType
    var expiry: Expiry
    var condition = Condition.none
    /// Whose limits hold for it; nil: nobody's.
    var profile: DeviceProfile?

    /// Throws `unsupported_attachment` for a media type that the profile's devices do not take, and
    /// `attachment_too_large` for more bytes than they take of it.
    ///
    /// - Parameter byteCount: 0 where it is not known yet.
    func check(byteCount: UInt64) throws(ProtocolError) {
        try profile?.check(byteCount: byteCount, part: part.text, mediaType: mediaType.text)
    }

    /// The limit of its bytes, which the store checks; nil: none of a profile's.
    var limit: PartLimit? {
        profile.flatMap { profile in
            profile.attachmentByteCountMax(mediaType.text.utf8.span.bytes).map {
                PartLimit(byteCountMax: $0, name: profile.rawValue)
            }
        }
    }
}

enum PayloadUse: Sendable {
    case publish(PublicationDraft)
    /// To be kept for a while. It must have the digest, if there is one.
    case hold(Digest?, ttlSeconds: Int64, mediaType: MediaType)

    var mediaType: MediaType {
        switch self {
        case .publish(let draft): draft.mediaType
        case .hold(_, _, let mediaType): mediaType
        }
    }

    /// The change that stores it. Throws what it would be refused for, whatever is stored.
    func change(of payload: PreparedPayload) throws(StoreError) -> CheckedChange {
        switch self {
        case .publish(let draft):
            let texts = draft.texts
            var publication = Publication(
                id: texts.id?.text, part: draft.part.text, payload: payload,
                owner: texts.owner?.text, app: texts.app?.text, title: texts.title?.text,
                message: texts.message?.text, richType: texts.richType?.text,
                expiry: draft.expiry)
            publication.condition = draft.condition
            publication.limit = draft.limit
            return try CheckedChange(.publish(publication), asOf: .now)
        case .hold(let digest, let seconds, _):
            return try CheckedChange(
                .hold(BlobHold(payload, seconds: seconds, expected: digest)), asOf: .now)
        }
    }
}
