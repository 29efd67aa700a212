internal import Notifications

/// A change that keeps every rule that does not depend on what is stored. Only such changes are
/// applied. A transaction asks again only what may be otherwise by then: what is there, and whether
/// its end is still to come.
package struct CheckedChange: Sendable {
    package let change: Change

    /// Checks a change. Reads each text once.
    ///
    /// - Throws: what it would be refused for, whatever is stored.
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

    /// For texts that are checked already (`CheckedChange+Texts.swift`).
    init(unchecked change: Change) { self.change = change }
}

/// The same for a long change, checked before its first step.
package struct CheckedLongChange: Sendable {
    package internal(set) var change: LongChange

    /// Checks a long change.
    ///
    /// - Throws: what it would be refused for, whatever is stored.
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

    init(unchecked change: LongChange) { self.change = change }
}
