internal import Bytes

// Whole notifications, patches and removals.

extension ChangeTransaction {
    mutating func publish(
        _ draft: NotificationDraft, staged: [Digest: UInt64]
    ) throws(StoreError) -> Outcome {
        let old = try existing(draft.id)
        let live = live(old)
        do throws(StoreError) {
            try check(draft, live)
            try checkQuotas(draft, old)
        } catch {
            return try Self.refused(error)
        }
        let id: String
        if let given = draft.id { id = given } else { id = try takeNotificationID() }
        var record = draft.record(id: id, asOf: now, replacing: live)
        // References are made before those of the old one are dropped: it may be what keeps a blob.
        for part in draft.parts {
            let blob =
                switch part.content {
                case .payload(let payload):
                    try reference(payload, until: record.expiresAt, staged: staged[payload.digest])
                case .stored(let digest): try reference(digest, until: record.expiresAt)
                }
            record.parts.append(Part(name: part.name, mediaType: part.mediaType, blob: blob))
        }
        if let old {
            for part in old.parts { try release(part.blob) }
        }
        try replace(old, by: &record)
        return .published(record, created: live == nil)
    }

    /// Throws what a draft is refused for, with nothing changed.
    borrowing func check(_ draft: NotificationDraft) throws(StoreError) {
        let old = try existing(draft.id)
        try check(draft, live(old))
        try checkQuotas(draft, old)
    }

    private borrowing func check(
        _ draft: NotificationDraft, _ live: Record?
    ) throws(StoreError) {
        try Rules.check(draft.expiry, asOf: now)
        try draft.condition.check(live)
        if let category = draft.details.category {
            try checkStored(category, for: draft.details.app)
        }
        for part in draft.parts {
            guard case .stored(let digest) = part.content else { continue }
            guard let entry = try usableEntry(digest) else { throw .unknownDigest(digest) }
            try part.limit?.check(
                byteCount: entry.blob.byteCount, part: part.name,
                mediaType: part.mediaType)
        }
        guard !draft.isEmpty else { throw .emptyNotification }
    }

    mutating func patch(_ patch: NotificationPatch) throws(StoreError) -> Outcome {
        let live = live(try existing(patch.id), in: patch.scope)
        let record: Record
        do throws(StoreError) {
            try check(patch, for: live?.app)
            try patch.condition.check(live)
            guard let live else { return .notFound }
            record = try patch.applied(to: live)
        } catch {
            return try Self.refused(error)
        }
        guard let live else { return .notFound }
        return try change(live, to: record, device: patch.device)
    }

    /// Throws what a checked patch is refused for, whatever notification of `app` it is of.
    borrowing func check(
        _ patch: NotificationPatch, for app: String?
    ) throws(StoreError) {
        try patch.checkEnd(asOf: now)
        if let category = patch.category.given { try checkStored(category, for: app) }
    }

    /// Stores what a patch made of `live`; nothing where that is the same.
    mutating func change(
        _ live: Record, to patched: Record, device: String?
    ) throws(StoreError) -> Outcome {
        guard !RecordEncoder.isSame(patched, live) else { return .unchanged(live) }
        if patched.expiresAt > live.expiresAt {
            for part in patched.parts { try extend(part.blob, until: patched.expiresAt) }
        }
        var record = patched
        record.setDevice(device)
        try replace(live, by: &record)
        return .changed(record)
    }

    mutating func remove(_ removal: Removal) throws(StoreError) -> Outcome {
        let live = live(try existing(removal.id))
        do throws(StoreError) {
            try removal.condition.check(live)
        } catch {
            return try Self.refused(error)
        }
        guard let live else { return .notFound }
        try remove(live, .deleted, device: removal.device)
        return .deleted
    }

    /// The record of an id that may be none that any could have.
    borrowing func existing(_ id: String?) throws(StoreError) -> Record? {
        guard let id, !id.isEmpty, id.utf8.count <= StoreLimits.idByteCountMax else { return nil }
        return try record(id)
    }

    /// One that has expired counts as not there, and so does one outside of `scope`.
    borrowing func live(_ record: Record?, in scope: NotificationScope? = nil) -> Record? {
        guard isLive(record), let record, scope?.contains(record) ?? true else { return nil }
        return record
    }

    /// Without a copy of the record.
    borrowing func isLive(_ record: Record?) -> Bool {
        guard let moment = record?.expiresAt else { return false }
        return moment > now
    }

    borrowing func checkStored(_ category: String, for app: String?) throws(StoreError) {
        guard try self.category(category, for: app) != nil else {
            throw .unknownCategory(category)
        }
    }

    /// The outcome of a change that is refused for what it says. What the store itself has come to
    /// ends the transaction.
    static func refused(_ error: StoreError) throws(StoreError) -> Outcome {
        switch error {
        case .invalid, .preconditionFailed, .categoryPreconditionFailed, .unknownCategory,
            .unknownDigest, .digestMismatch, .unknownAction, .responseConflict, .emptyNotification,
            .attachmentTooLarge, .quotaExceeded:
            return .refused(error)
        default: throw error
        }
    }

    mutating func takeNotificationID() throws(StoreError) -> String {
        while true {
            let id = String(counters.nextNotificationNumber)
            counters.nextNotificationNumber += 1
            if try record(id) == nil { return id }
        }
    }
}

extension RecordEncoder {
    /// Whether two records of one id are stored alike, whoever made them what they are, and when.
    static func isSame(_ record: Record, _ other: Record) -> Bool {
        var record = record
        record.revision = other.revision
        record.setDevice(other.box?.value.device)
        return bytes(record) == bytes(other)
    }
}

extension Record {
    /// Sets ``details``' device, without making any for one that has none.
    mutating func setDevice(_ device: String?) { self[.device] = device }

    /// Sets ``details``' category's revision likewise; 0: none.
    mutating func setCategoryRevision(_ revision: UInt64) {
        guard (box?.value.categoryRevision ?? 0) != revision else { return }
        details.categoryRevision = revision
    }
}

extension ChangeTransaction {
    mutating func respond(_ response: ActionResponse) throws(StoreError) -> Outcome {
        let live = live(try existing(response.id), in: response.scope)
        do throws(StoreError) {
            guard let live else { return .notFound }
            if let earlier = live.details.responses.last(where: { $0.isRepeated(by: response) }) {
                guard earlier.action.isSame(as: response.action),
                    earlier.staysOnScreen == response.staysOnScreen,
                    earlier.contentExtension == response.contentExtension
                else {
                    throw .responseConflict(key: response.key ?? "")
                }
                return .unchanged(live)
            }
            guard try offers(response.action, live) else {
                throw .unknownAction(response.action)
            }
        } catch {
            return try Self.refused(error)
        }
        guard let live else { return .notFound }
        var record = response.applied(to: live, asOf: now, revision: counters.revision + 1)
        try replace(live, by: &record)
        return .changed(record)
    }

    /// Whether that may be chosen: its own actions count, or where it has none of its own, those of
    /// the category that its name means to its app.
    private borrowing func offers(
        _ action: String, _ record: Record
    ) throws(StoreError) -> Bool {
        if ActionResponse.isReserved(action) { return true }
        let details = record.details
        var actions = details.actions
        if actions == nil, let name = details.category {
            actions = try category(name, for: record.app)?.actions
        }
        return actions?.contains { $0.identifier.isSame(as: action) } ?? false
    }
}

extension RecordedResponse {
    /// Whether that has its key and comes from its device. Two devices know nothing of each other's
    /// keys: the same key from another one is another response.
    fileprivate func isRepeated(by response: ActionResponse) -> Bool {
        guard let own = self.key, let key = response.key else { return false }
        return own.isSame(as: key) && device.isSame(as: response.device)
    }
}
