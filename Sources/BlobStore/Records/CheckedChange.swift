package import Notifications

/// A change that keeps every rule that does not depend on what is stored. Only such changes are applied.
package struct CheckedChange: Sendable {
    package private(set) var change: Change

    /// Reads each text once.
    package init(_ change: Change, asOf now: Timestamp) throws(StoreError) {
        switch change {
        case .publish(let publication): try publication.check(asOf: now)
        case .publishNotification(let draft): try draft.check(asOf: now)
        case .patch(let patch): try patch.check(asOf: now)
        case .remove(let removal): try TextKind.device.check(removal.device)
        case .respond(let response): try response.check()
        case .hold(let hold): try hold.check(asOf: now)
        case .setCategory(let category, _): try category.check()
        case .delete, .removeCategory: break
        }
        self.change = change
    }

    private init(unchecked change: Change) { self.change = change }

    /// A part of a notification. Its texts were checked where they came in, and are not read again; the media type
    /// is its payload's.
    package static func publish(
        _ payload: PreparedPayload, as part: PartName, of texts: NotificationTexts, expiry: Expiry,
        condition: Condition, limit: PartLimit?, asOf now: Timestamp
    ) throws(StoreError) -> CheckedChange {
        try Publication.check(
            payload, as: part.text, payload.mediaType, expiry: expiry, limit: limit, asOf: now)
        return CheckedChange(
            unchecked: .publish(
                Publication(
                    id: texts.id?.text, part: part.text, payload: payload,
                    owner: texts.owner?.text, app: texts.app?.text, title: texts.title?.text,
                    message: texts.message?.text, richType: texts.richType?.text, expiry: expiry,
                    condition: condition, limit: limit)))
    }

    package func with(_ parts: [DraftPart]) throws(StoreError) -> CheckedChange {
        guard case .publishNotification(var draft) = change else {
            preconditionFailure("the change is not a whole notification")
        }
        draft.parts = parts
        try draft.checkParts()
        return CheckedChange(unchecked: .publishNotification(draft))
    }

    package static func delete(id: String) -> CheckedChange {
        CheckedChange(unchecked: .delete(id: id))
    }

    package static func remove(
        id: String, device: DeviceName?, condition: Condition
    ) -> CheckedChange {
        CheckedChange(
            unchecked: .remove(Removal(id: id, device: device?.text, condition: condition)))
    }

    package static func removeCategory(
        name: String, app: String?, condition: Condition
    ) -> CheckedChange {
        CheckedChange(unchecked: .removeCategory(name: name, app: app, condition: condition))
    }
}

/// A long change that keeps every such rule, checked before its first step.
package struct CheckedLongChange: Sendable {
    package internal(set) var change: LongChange

    /// Checks a long change.
    package init(_ change: LongChange, asOf now: Timestamp) throws(StoreError) {
        switch change.kind {
        case .patchGroup(let owner, let group, let app, let patch):
            try TextKind.owner.check(owner)
            try TextKind.group.check(group)
            try TextKind.app.check(app)
            try patch.check(asOf: now)
        case .deleteGroup(let owner, let group, let app, let device):
            try TextKind.owner.check(owner)
            try TextKind.group.check(group)
            try TextKind.app.check(app)
            try TextKind.device.check(device)
        case .deleteOwner(let owner): try TextKind.owner.check(owner)
        }
        self.change = change
    }

    private init(unchecked change: LongChange) { self.change = change }

    package static func deleteGroup(
        owner: OwnerID, group: GroupName, app: AppName?, device: DeviceName?
    ) -> CheckedLongChange {
        CheckedLongChange(
            unchecked: .deleteGroup(
                owner: owner.text, group: group.text, app: app?.text, device: device?.text))
    }

    package static func deleteOwner(_ owner: OwnerID) -> CheckedLongChange {
        CheckedLongChange(unchecked: .deleteOwner(owner.text))
    }
}
