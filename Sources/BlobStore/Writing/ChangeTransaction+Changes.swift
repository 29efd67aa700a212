// Each kind of change, inside one transaction. What can be refused is refused before anything is
// written.

extension ChangeTransaction {
    mutating func apply(_ change: Change, staged: UInt64? = nil) throws(StoreError) -> Outcome {
        switch change {
        case .publish(let publication): try publish(publication, staged: staged)
        case .delete(let id): try delete(id)
        case .publishNotification(let draft): try publish(draft, staged: [:])
        case .patch(let patch): try self.patch(patch)
        case .remove(let removal): try remove(removal)
        case .respond(let response): try respond(response)
        case .hold(let hold): try self.hold(hold, staged: staged)
        case .setCategory(let category): try setCategory(category)
        case .removeCategory(let name): try removeCategory(name)
        }
    }

    private mutating func publish(
        _ publication: Publication, staged: UInt64?
    ) throws(StoreError) -> Outcome {
        do throws(StoreError) {
            try publication.check(asOf: now)
        } catch {
            return .refused(error)
        }
        let id: String
        if let given = publication.id { id = given } else { id = try takeNotificationID() }
        let old = try record(id)
        // One that has expired counts as not there; what it still holds is let go of.
        let live = old.flatMap { $0.expiresAt > now ? $0 : nil }
        var record = publication.record(id: id, asOf: now, replacing: live)
        let replaced = live?.part(named: publication.part)
        guard record.parts.count < StoreLimits.partCountMax else {
            return .refused(
                .invalid(
                    InvalidInput(
                        field: .partCount,
                        reason:
                            "notification \(id) has \(record.parts.count) other parts; the limit is \(StoreLimits.partCountMax) in all"
                    )))
        }
        let blob = try reference(publication.payload, until: record.expiresAt, staged: staged)
        for part in record.parts { try extend(part.blob, until: record.expiresAt) }
        record.parts.append(
            Part(name: publication.part, mediaType: publication.mediaType, blob: blob))
        if live == nil, let old {
            for part in old.parts { try release(part.blob) }
        } else if let replaced {
            try release(replaced.blob)
        }
        try replace(old, by: &record)
        return .published(record, created: replaced == nil)
    }

    private mutating func delete(_ id: String) throws(StoreError) -> Outcome {
        guard !id.isEmpty, id.utf8.count <= StoreLimits.idByteCountMax, let old = try record(id),
            old.expiresAt > now
        else { return .notFound }
        try remove(old)
        return .deleted
    }

    /// The next decimal number that no notification has.
    private mutating func takeNotificationID() throws(StoreError) -> String {
        while true {
            let id = String(counters.nextNotificationNumber)
            counters.nextNotificationNumber += 1
            if try record(id) == nil { return id }
        }
    }
}

extension Publication {
    /// Every rule that does not depend on what is stored.
    func check(asOf now: Timestamp) throws(StoreError) {
        if let id { try Names.check(id, .id, byteCountMax: StoreLimits.idByteCountMax) }
        try Names.check(part, .partName, byteCountMax: StoreLimits.partNameByteCountMax)
        try Names.checkMediaType(mediaType)
        try checkText(owner, .owner, StoreLimits.ownerByteCountMax)
        try checkText(richType, .richType, StoreLimits.richTypeByteCountMax)
        try checkText(message, .message, StoreLimits.messageByteCountMax)
        let moment =
            switch expiry {
            case .at(let moment): moment
            case .keep(let otherwise): otherwise
            }
        // Not before 1970 either: such a key would sort behind all others.
        guard moment > now, moment.milliseconds > 0,
            moment.milliseconds <= StoreLimits.expiryMillisecondsMax
        else {
            throw .invalid(
                InvalidInput(
                    field: .expiry,
                    reason:
                        "\(moment.milliseconds) ms since 1970 is not after the present, \(now.milliseconds), and before the year 10000"
                ))
        }
    }

    private func checkText(
        _ text: String?, _ field: InvalidInput.Field, _ byteCountMax: Int
    ) throws(StoreError) {
        guard let text else { return }
        try Names.checkText(
            text, field, byteCountMax: byteCountMax, allowsLineBreaks: field == .message)
    }

    /// The record this makes of `live`, without the part itself.
    fileprivate func record(id: String, asOf now: Timestamp, replacing live: Record?) -> Record {
        let isWhole = part == RecordEncoder.defaultPartName
        let expiresAt =
            switch expiry {
            case .at(let moment): moment
            case .keep(let otherwise): live?.expiresAt ?? otherwise
            }
        return Record(
            id: id,
            owner: owner ?? (isWhole ? nil : live?.owner),
            message: message ?? (isWhole ? nil : live?.message),
            richType: richType ?? (isWhole ? nil : live?.richType),
            createdAt: live?.createdAt ?? now, expiresAt: expiresAt, revision: 0,
            parts: live?.parts.filter { !$0.isNamed(part) } ?? [])
    }
}
