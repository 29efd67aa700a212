public import BlobJSON
package import Notifications

/// What a patch says of one field.
public enum FieldPatch<Value: Sendable & Hashable>: Sendable, Hashable {
    /// It stays.
    case keep
    /// It becomes what it is in a notification that does not say it.
    case clear
    /// It becomes this.
    case set(Value)
}

/// Changes of a notification's mutable fields (RFC 7396, with the fields as members). One that changes nothing
/// makes no revision. One that would take the last of title, message and data from a notification without parts is
/// refused as ``StoreError/emptyNotification``.
public struct NotificationPatch: Sendable {
    /// Which notification. Ignored in the patch of a group.
    public var id: String
    /// The line above the message.
    public var title = FieldPatch<String>.keep
    /// The line of text.
    public var message = FieldPatch<String>.keep
    /// The kind of rich content.
    public var richType = FieldPatch<String>.keep
    /// The category.
    public var category = FieldPatch<String>.keep
    /// The group.
    public var group = FieldPatch<String>.keep
    /// Its own actions; cleared, those of its category hold.
    public var actions = FieldPatch<[NotificationAction]>.keep
    /// The platforms that it is for; cleared or empty: all.
    public var platforms = FieldPatch<[String]>.keep
    /// The host that it is for.
    public var targetHost = FieldPatch<String>.keep
    /// How urgent it is.
    public var priority = FieldPatch<NotificationPriority>.keep
    /// How long it should be shown, in seconds.
    public var displayTTLSeconds = FieldPatch<UInt32>.keep
    /// `set` is a merge patch of what is there.
    public var data = FieldPatch<JSONValue>.keep
    /// Whether it was read.
    public var isRead = FieldPatch<Bool>.keep
    /// What became of it.
    public var actionState = FieldPatch<ActionState>.keep
    /// `clear` is refused.
    public var expiresAt = FieldPatch<Timestamp>.keep
    /// The device it comes from, 1…64 bytes.
    public var device: String?
    /// What must hold of the one that is there.
    public var condition = Condition.none
    /// The notifications that exist for this change; nil: all.
    public var scope: NotificationScope?

    /// A patch that changes nothing yet.
    public init(id: String) { self.id = id }
}

extension NotificationPatch {
    /// What it says of a text; nil of one that no patch changes.
    package subscript(field: TextField) -> FieldPatch<String>? {
        get {
            switch field {
            case .title: title
            case .message: message
            case .richType: richType
            case .category: category
            case .group: group
            case .targetHost: targetHost
            case .owner, .app, .device: nil
            }
        }
        set {
            guard let newValue else { return }
            switch field {
            case .title: title = newValue
            case .message: message = newValue
            case .richType: richType = newValue
            case .category: category = newValue
            case .group: group = newValue
            case .targetHost: targetHost = newValue
            case .owner, .app, .device: break
            }
        }
    }

    /// Whether it changes nothing but what became of the notification on the devices.
    package var isOfStateAlone: Bool {
        TextField.patched.allSatisfy { self[$0] == nil || self[$0] == .keep } && actions == .keep
            && platforms == .keep && priority == .keep && displayTTLSeconds == .keep
            && data == .keep && expiresAt == .keep
    }

    func check(asOf now: Timestamp) throws(StoreError) {
        for field in TextField.patched { try field.kind.check(self[field]?.given) }
        try TextKind.device.check(device)
        if let actions = actions.given { try Rules.check(actions) }
        if let platforms = platforms.given { try Rules.check(platforms: platforms) }
        if let seconds = displayTTLSeconds.given { try Rules.check(displayTTLSeconds: seconds) }
        guard expiresAt != .clear else {
            throw Rules.refuse(.expiry, "must not be null: every notification expires")
        }
        try checkEnd(asOf: now)
    }

    /// The one of them that depends on the time.
    func checkEnd(asOf now: Timestamp) throws(StoreError) {
        if case .set(let moment) = expiresAt { try Rules.check(end: moment, asOf: now) }
    }

    /// What it makes of `live`, with no change of revision, device and parts.
    func applied(to live: Record) throws(StoreError) -> Record {
        var record = live
        for field in TextField.patched {
            guard let said = self[field], said != .keep else { continue }
            record[field] = said.applied(to: live[field])
        }
        if case .set(let moment) = expiresAt { record.expiresAt = moment }
        var details = record.details
        details.actions = actions.applied(to: details.actions)
        details.platforms = platforms.applied(to: details.platforms) ?? []
        details.priority = priority.applied(to: details.priority) ?? .high
        details.displayTTLSeconds = displayTTLSeconds.applied(to: details.displayTTLSeconds) ?? 0
        details.isRead = isRead.applied(to: details.isRead) ?? false
        details.actionState = actionState.applied(to: details.actionState) ?? .none
        details.data = try mergedData(details.data, of: live.id)
        record.details = details
        guard !record.isEmpty || live.isEmpty else { throw .emptyNotification }
        return record
    }

    private func mergedData(
        _ old: JSONFragment?, of id: String
    ) throws(StoreError) -> JSONFragment? {
        switch data {
        case .keep: return old
        case .clear: return nil
        case .set(let patch):
            let merged = try Self.value(of: old, of: id).merged(with: patch)
            if case .null = merged { return nil }
            let fragment = JSONFragment(merged)
            try Rules.check(dataByteCount: fragment.bytes.count)
            return fragment
        }
    }

    private static func value(
        of data: JSONFragment?, of id: String
    ) throws(StoreError) -> JSONValue {
        guard let data else { return .null }
        do throws(JSONError) {
            return try data.value()
        } catch {
            throw .corrupt("the data of notification \(id): \(error.description)")
        }
    }
}

extension FieldPatch {
    var given: Value? {
        if case .set(let value) = self { value } else { nil }
    }

    func applied(to old: Value?) -> Value? {
        switch self {
        case .keep: old
        case .clear: nil
        case .set(let value): value
        }
    }
}
