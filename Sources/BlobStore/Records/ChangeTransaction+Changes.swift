internal import Bytes
internal import Notifications

// What can be refused is refused before anything is written. Texts were checked before (``CheckedChange``); ends
// are compared with the clock here, too, since they may have passed meanwhile.

extension ChangeTransaction {
    /// - Parameter staged: the numbers that blobs were written ahead under.
    mutating func apply(
        _ checked: CheckedChange, staged: [Digest: UInt64] = [:]
    ) throws(StoreError) -> Outcome {
        try apply(checked.change, staged)
    }

    /// A function of its own: switching over a property would copy the change.
    private mutating func apply(
        _ change: Change, _ staged: [Digest: UInt64]
    ) throws(StoreError) -> Outcome {
        switch change {
        case .publish(let publication): try publish(publication, staged: staged)
        case .delete(let id): try remove(Removal(id: id))
        case .publishNotification(let draft): try publish(draft, staged: staged)
        case .patch(let patch): try self.patch(patch)
        case .remove(let removal): try remove(removal)
        case .respond(let response): try respond(response)
        case .hold(let hold): try self.hold(hold, staged: staged)
        case .setCategory(let category, let condition): try setCategory(category, condition)
        case .removeCategory(let name, let app, let condition):
            try removeCategory(name, app: app, condition)
        }
    }

    private mutating func publish(
        _ publication: Publication, staged: [Digest: UInt64]
    ) throws(StoreError) -> Outcome {
        var old: Record?
        if let id = publication.id { old = try record(id) }
        // One that has expired counts as not there; what it still holds is released. It is told by
        // a mark, since a copy of the record would cost a reference count for each of its texts.
        let isLive = isLive(old)
        do throws(StoreError) {
            try Rules.check(publication.expiry, asOf: now)
            if publication.isConditional {
                try publication.condition.check(isLive ? old : nil, part: publication.part)
            }
            try checkQuotas(publication, old, isLive: isLive)
        } catch {
            return try Self.refused(error)
        }
        let id: String
        if let given = publication.id { id = given } else { id = try takeNotificationID() }
        var record = publication.record(id: id, asOf: now, replacing: old, isLive: isLive)
        let replaced = isLive ? old?.part(named: publication.part)?.blob : nil
        guard record.parts.count < StoreLimits.partCountMax else {
            return .refused(
                .invalid(
                    InvalidInput(
                        field: .parts,
                        reason:
                            "of notification \(id) are \(record.parts.count) without this one; the limit is \(StoreLimits.partCountMax)",
                        limit: StoreLimits.partCountMax)))
        }
        let payload = publication.payload
        let blob = try reference(
            payload, until: record.expiresAt, staged: staged[payload.digest])
        for part in record.parts { try extend(part.blob, until: record.expiresAt) }
        record.parts.append(
            Part(name: publication.part, mediaType: publication.mediaType, blob: blob))
        if let replaced {
            try release(replaced)
        } else if !isLive, let old {
            for part in old.parts { try release(part.blob) }
        }
        try replace(old, by: &record)
        return .published(consume record, created: replaced == nil)
    }
}

extension ChangeTransaction {
    /// Throws what a publication is refused for, with nothing changed.
    borrowing func check(_ publication: Publication) throws(StoreError) {
        try Rules.check(publication.expiry, asOf: now)
        guard publication.isConditional || quotas.isAny else { return }
        let old = try existing(publication.id)
        if publication.isConditional {
            try publication.condition.check(live(old), part: publication.part)
        }
        try checkQuotas(publication, old, isLive: isLive(old))
    }
}

extension Publication {
    var isConditional: Bool {
        if case .none = condition { false } else { true }
    }

    func check(asOf now: Timestamp) throws(StoreError) {
        try TextKind.id.check(id)
        try TextKind.part.check(part)
        // A payload's own was checked when it was prepared, and most often it is the same text.
        if !mediaType.isSame(as: payload.mediaType) { try TextKind.mediaType.check(mediaType) }
        try TextKind.owner.check(owner)
        try TextKind.richType.check(richType)
        try TextKind.message.check(message)
        try TextKind.title.check(title)
        try TextKind.app.check(app)
        try Self.check(payload, as: part, mediaType, expiry: expiry, limit: limit, asOf: now)
    }

    /// The rules of all but texts.
    static func check(
        _ payload: PreparedPayload, as part: String, _ mediaType: String, expiry: Expiry,
        limit: PartLimit?, asOf now: Timestamp
    ) throws(StoreError) {
        try Rules.check(expiry, asOf: now)
        try limit?.check(byteCount: payload.byteCount, part: part, mediaType: mediaType)
    }

    /// The record this makes of `old`, if that has not expired, without the part itself.
    fileprivate func record(
        id: String, asOf now: Timestamp, replacing old: Record?, isLive: Bool
    ) -> Record {
        var record = Record(
            id: id, owner: owner, message: message, richType: richType, createdAt: now,
            expiresAt: expiry.moment(keeping: isLive ? old?.expiresAt : nil, asOf: now),
            revision: 0, parts: [])
        guard isLive, let old else {
            if let title { record.title = title }
            if let app { record.app = app }
            return record
        }
        if owner == nil { record.owner = old.owner }
        if message == nil { record.message = old.message }
        if richType == nil { record.richType = old.richType }
        record.createdAt = old.createdAt
        for kept in old.parts where !kept.isNamed(part) { record.parts.append(kept) }
        record.box = old.box
        record.setDevice(nil)
        if let title { record.title = title }
        if let app { record.app = app }
        return record
    }
}
