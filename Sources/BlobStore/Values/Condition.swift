internal import Bytes

/// What must hold of what is stored for a change to be made, judged in its transaction. The condition of a
/// ``Publication`` is about its part, that of a category's change about the category, others about the
/// notification. What has expired is not there.
public enum Condition: Sendable, Hashable {
    /// Nothing.
    case none
    /// There is none.
    case absent
    /// There is one.
    case exists
    /// The notification, or the category, has one of these revisions.
    case revisions([UInt64])
    /// What entity tags say: one of `match` names what is there, and none of `noneMatch` does. Nil:
    /// not asked.
    indirect case tags(match: EntityTagSet?, noneMatch: EntityTagSet?)
}

/// Entity tags of a condition.
public enum EntityTagSet: Sendable, Hashable {
    /// Whatever is there.
    case any
    /// What has one of these revisions, or digests: of the part that the condition is about, or of `payload`.
    case named(revisions: [UInt64], digests: [Digest])
}

/// What a condition was compared with.
public struct PresentState: Sendable, Hashable {
    /// The notification's revision; nil: there is no notification.
    public var revision: UInt64?
    /// The digest of the part; nil: there is no such part.
    public var digest: Digest?
    /// The part that the condition is about; nil: it is about the notification, and ``digest`` is
    /// that of the part `payload`.
    public var part: String?

    /// A state.
    public init(revision: UInt64?, digest: Digest? = nil, part: String? = nil) {
        self.revision = revision
        self.digest = digest
        self.part = part
    }

    var description: String {
        guard let revision else { return "the notification does not exist" }
        let notification = "the notification has the revision \(revision)"
        switch (part, digest) {
        case (nil, nil): return notification
        case (nil, let digest?): return "\(notification), and its payload is \(digest)"
        case (let part?, nil): return "\(notification) and no part \(part)"
        case (let part?, let digest?):
            return "\(notification), and its part \(part) is \(digest)"
        }
    }
}

extension Condition {
    /// Throws ``StoreError/preconditionFailed(_:)`` unless it holds of the notification, or of a part of it.
    package func check(_ live: Record?, part: String? = nil) throws(StoreError) {
        if case .none = self { return }
        let digest = live?.part(named: part ?? Part.defaultName)?.digest
        let isThere = part == nil ? live != nil : digest != nil
        let state = PresentState(revision: live?.revision, digest: digest, part: part)
        guard holds(of: state, isThere: isThere) else { throw .preconditionFailed(state) }
    }

    /// A category has no digest, so a digest names none.
    package func check(category: Category?) throws(StoreError) {
        if case .none = self { return }
        let state = PresentState(revision: category?.revision)
        guard holds(of: state, isThere: category != nil) else {
            throw .categoryPreconditionFailed(revision: category?.revision)
        }
    }

    private func holds(of state: PresentState, isThere: Bool) -> Bool {
        switch self {
        case .none: true
        case .absent: !isThere
        case .exists: isThere
        case .revisions(let revisions): state.revision.map { revisions.contains($0) } ?? false
        case .tags(let match, let noneMatch):
            (match?.names(state, isThere: isThere) ?? true)
                && !(noneMatch?.names(state, isThere: isThere) ?? false)
        }
    }
}

extension EntityTagSet {
    fileprivate func names(_ state: PresentState, isThere: Bool) -> Bool {
        switch self {
        case .any: return isThere
        case .named(let revisions, let digests):
            if let revision = state.revision, revisions.contains(revision) { return true }
            return state.digest.map { digests.contains($0) } ?? false
        }
    }
}

/// The removal of a notification with all its parts.
public struct Removal: Sendable {
    /// The notification's id.
    public var id: String
    /// The device that removes it, 1…64 bytes; nil: none is named.
    public var device: String?
    /// What must be true of the notification, or the removal is refused.
    public var condition = Condition.none

    /// A removal.
    public init(id: String, device: String? = nil, condition: Condition = .none) {
        self.id = id
        self.device = device
        self.condition = condition
    }
}

/// The notifications that exist for a change: those of one owner, or of one app of an owner.
public struct NotificationScope: Sendable, Hashable {
    /// Whose they are.
    public var owner: String
    /// Of which app; nil: of all.
    public var app: String?

    /// A scope.
    public init(owner: String, app: String? = nil) {
        self.owner = owner
        self.app = app
    }

    /// Whether a notification is one of them. Names are compared by bytes.
    package func contains(_ record: Record) -> Bool {
        (record.owner?.isSame(as: owner) ?? false)
            && (app.map { record.app?.isSame(as: $0) ?? false } ?? true)
    }
}
