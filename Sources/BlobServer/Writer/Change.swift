import BlobProtocol
import BlobStore
import Synchronization

/// What came of a change that a connection asked for.
enum ChangeResult: Sendable {
    case published(Record, created: Bool)
    case deleted
    case notFound
    case changed(Record)
    case unchanged(Record)
    case held(HeldBlob, created: Bool)
    case categorySet(Category, created: Bool)
    /// What became of each line of a batch, in their order.
    case lines([BatchLine.Answered])
    case long(LongChange)
    /// The store can commit.
    case writable
    /// All that was acknowledged is committed.
    case committed
    case failed(StoreError)
    /// The body was found wrong, away from its connection.
    case refused(ProtocolError)

    /// Whether it is what becomes of a category's edit that is done.
    var isCategoryEdit: Bool {
        switch self {
        case .categorySet, .deleted: true
        default: false
        }
    }
}

/// A line of a batch: a change to be made, or what is wrong with it.
struct BatchLine: Sendable {
    /// What it says.
    enum Content: Sendable {
        case change(Change)
        case refused(ProtocolError)
    }

    /// The notification's, where it is said.
    var id: String?
    var content: Content

    /// What became of one.
    struct Answered: Sendable {
        var id: String?
        var result: ChangeResult
    }
}

/// A change on its way to the writer, and who waits for it. It is moved there, since a copy would
/// cost a reference count for each of its texts.
struct PendingChange: ~Copyable, Sendable {
    /// What to do.
    enum Operation: Sendable {
        case apply(Change)
        /// Each line by itself, in one transaction as far as that goes.
        case applyAll([BatchLine])
        /// In steps, between which others run.
        case long(LongChange)
        /// Find out whether the store can commit.
        case checkWritable
        /// Commit what was acknowledged.
        case waitForCommit
    }

    let operation: Operation
    let connection: ConnectionAddress
    /// The memory the prepared payload may use; released when the change is committed.
    let reservation: BodyReservation?
}

extension PendingChange.Operation {
    /// Throws what the store would refuse it for, whatever is stored.
    func check() throws(ProtocolError) {
        do throws(StoreError) {
            switch self {
            case .apply(let change): try change.check(asOf: .now)
            case .long(let change): try change.check(asOf: .now)
            case .applyAll, .checkWritable, .waitForCommit: break
            }
        } catch {
            throw ProtocolError(error)
        }
    }
}

/// Everything a publish says but its bytes.
struct PublicationDraft: Sendable {
    /// Nil: the store chooses the next number.
    var id: String?
    var part: String
    var mediaType: String
    var owner: String?
    var app: String?
    var title: String?
    var message: String?
    var richType: String?
    var expiry: Expiry
    var condition = Condition.none
    /// Whose limits hold for it; nil: nobody's.
    var profile: DeviceProfile?

    /// The publication of a prepared payload.
    func publication(of payload: PreparedPayload) -> Publication {
        var publication = Publication(
            id: id, part: part, payload: payload, owner: owner, app: app, title: title,
            message: message, richType: richType, expiry: expiry)
        publication.condition = condition
        publication.limit = profile?.limit(of: mediaType)
        return publication
    }

    /// Throws `attachment_too_large` for more bytes than the profile's devices take.
    func check(byteCount: UInt64) throws(ProtocolError) {
        try profile?.check(byteCount: byteCount, mediaType: mediaType.utf8.span.bytes)
    }
}

extension DeviceProfile {
    /// What a part of a media type may have, for the store to judge.
    func limit(of mediaType: String) -> PartLimit? {
        attachmentByteCountMax(mediaType.utf8.span.bytes).map {
            PartLimit(byteCountMax: $0, name: rawValue)
        }
    }
}

/// What a payload is prepared for.
enum PayloadUse: Sendable {
    case publish(PublicationDraft)
    /// To be kept for a while; it must have the digest, if there is one.
    case hold(Digest?, ttlSeconds: Int64, mediaType: String)

    var mediaType: String {
        switch self {
        case .publish(let draft): draft.mediaType
        case .hold(_, _, let mediaType): mediaType
        }
    }

    /// The change that stores it.
    func change(of payload: PreparedPayload) -> Change {
        switch self {
        case .publish(let draft): .publish(draft.publication(of: payload))
        case .hold(let digest, let seconds, _):
            .hold(BlobHold(payload, seconds: seconds, expected: digest))
        }
    }
}
