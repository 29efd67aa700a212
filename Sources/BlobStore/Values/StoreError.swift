internal import Glibc
internal import Notifications

/// What can go wrong in the store, and what it means for the caller. A missing or expired payload
/// is none of these: it is nil.
public enum StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The input breaks a rule; nothing was changed. Mend the input.
    case invalid(InvalidInput)
    /// There is no room: the disk, or the size the store may have, is used up. Reads, deletes and expiry continue.
    case full
    /// The store, or the owner, may not have more; nothing was changed. Reads, deletes and changes
    /// that do not grow it are accepted.
    case quotaExceeded(QuotaExcess)
    /// A checksum, a digest or a structure does not agree with itself. Nothing was returned. Run
    /// `verify`.
    case corrupt(String)
    /// The payload's bytes are in the bucket of the store's shard, and not here. Fetch them from there; the
    /// daemon does (`--local-bytes`).
    case evicted(BlobReference)
    /// So many payloads are in the bucket and not here: what needs all of them cannot be done.
    case hasEvicted(blobs: Int, bytes: Int)
    /// A sync failed, so whether the change is on disk is not known. The store takes no further
    /// change in this process: stop it and start again.
    case outcomeUnknown(String)
    /// The store was not opened; its files are as they were.
    case cannotOpen(path: String, reason: String)
    /// The store was not opened, since its files are damaged; they are as they were.
    case damaged(path: String, reason: String)
    /// The system refused a call.
    case io(operation: String, errno: Int32)
    /// The store belongs to a shard and does not lead it, or its lead is ending; nothing was changed. Make the change at
    /// the shard's leader.
    case notLeading
    /// As many snapshots are open as there may be.
    case readersFull
    /// What is there is not as the condition wants it; nothing was changed.
    case preconditionFailed(PresentState)
    /// The category is not as the condition wants it; nothing was changed. Its present revision; nil:
    /// there is none.
    case categoryPreconditionFailed(revision: UInt64?)
    /// No category has that name.
    case unknownCategory(String)
    /// The notification would have no title, no message, no data and no part.
    case emptyNotification
    /// No blob with that digest is stored.
    case unknownDigest(Digest)
    /// A part is larger than its ``PartLimit`` allows.
    case attachmentTooLarge(byteCount: Int, part: String, mediaType: String, limit: PartLimit)
    /// The bytes are not those of the digest that was said.
    case digestMismatch(expected: Digest, actual: Digest)
    /// The notification has no such action.
    case unknownAction(String)
    /// The device used the key for another response.
    case responseConflict(key: String)
    /// The place in the feed is too old, or of another time of the store: read the history again.
    case resync
    /// A limit of watchers is reached; which one it is.
    case tooManyWatchers(limit: Int, of: WatcherLimit)

    /// What went wrong, in words for a person.
    public var description: String {
        switch self {
        case .invalid(let input): input.description
        case .full: "no space: the disk is full, or the store has its maximum size"
        case .quotaExceeded(let excess): excess.description
        case .corrupt(let what): "corrupt: \(what)"
        case .evicted(let blob):
            "the bytes of \(blob.digest) are in the bucket of the store's shard, and not here"
        case .hasEvicted(let blobs, let bytes):
            "\(blobs) payloads (\(bytes) bytes) are in the bucket and not here (--local-bytes); blobd restore s3://… makes a store that has them"
        case .outcomeUnknown(let why): "outcome unknown: \(why)"
        case .cannotOpen(let path, let reason), .damaged(let path, let reason):
            "cannot open the store at \(path): \(reason)"
        case .io(let operation, let number): "\(operation) failed: \(systemMessage(number))"
        case .notLeading: "this store does not lead its shard: make the change at the leader"
        case .readersFull: "too many open snapshots"
        case .preconditionFailed(let state): state.description
        case .categoryPreconditionFailed(let revision?):
            "the category has the revision \(revision)"
        case .categoryPreconditionFailed(nil): "the category does not exist"
        case .unknownCategory(let name): "unknown category \(name)"
        case .emptyNotification:
            "a notification needs a title, a message, data or a part"
        case .unknownDigest(let digest): "the blob \(digest) is not stored"
        case .attachmentTooLarge(let byteCount, let part, let mediaType, let limit):
            "the part \(part) of type \(mediaType) is \(byteCount) bytes long; the limit of \(limit.name) is \(limit.byteCountMax)"
        case .digestMismatch(let expected, let actual):
            "the digest of the bytes is \(actual); expected \(expected)"
        case .unknownAction(let action): "the notification has no action \(action)"
        case .responseConflict(let key): "the device used the key \(key) for another response"
        case .resync: "the cursor is too old: read the history again"
        case .tooManyWatchers(let limit, let which): "\(which.words) (\(limit)) reached"
        }
    }
}

/// An input that breaks a rule: which one, and how.
public struct InvalidInput: Error, Sendable, Hashable, CustomStringConvertible {
    /// What the caller gave.
    public enum Field: String, Sendable {
        case id
        case partName = "part name"
        case mediaType = "media type"
        case contentCoding = "content coding"
        case owner
        case richType = "rich type"
        case message, title, app
        case expiry
        /// The moment of a change or a read, `asOf`.
        case now = "current time"
        case payload, document
        case category, group, actions, data, device, record, response, parts, limit
        case displayTTL = "display ttl"
        case responseKey = "response key"
        case platform, platforms
        case targetHost = "target host"
        /// A text that is none of these: ``InvalidInput/name`` says which.
        case text
    }

    /// Which input it is.
    public var field: Field
    /// The input's name, as ``description`` has it.
    public let name: String
    /// What is wrong with it, with the value and the limit.
    public var reason: String
    /// The limit, where the input is too long.
    public var limit: Int?

    init(field: Field, reason: String, limit: Int? = nil) {
        self.field = field
        self.reason = reason
        self.limit = limit
        name = field.rawValue
    }

    init(_ kind: TextKind, _ fault: TextFault) {
        field = Field(rawValue: kind.field) ?? .text
        reason = fault.words
        limit = fault.limit
        name = kind.field
    }

    /// The input and what is wrong with it, as a sentence.
    public var description: String { "the \(name) \(reason)" }
}

func systemMessage(_ number: Int32) -> String {
    guard let words = strerror(number) else { return "error \(number)" }
    return "\(String(cString: words)) (\(number))"
}

extension StoreError {
    /// The last failed system call. A disk without room is ``full``.
    static func system(_ operation: String) -> StoreError { system(operation, errno) }

    /// A file over the size limit of the process (`RLIMIT_FSIZE`) is one without room, where SIGXFSZ is ignored.
    static func system(_ operation: String, _ number: Int32) -> StoreError {
        switch number {
        case ENOSPC, EDQUOT, EFBIG: .full
        default: .io(operation: operation, errno: number)
        }
    }
}
