internal import BlobJSON
internal import Bytes
internal import Notifications

/// Rules for what notifications say that do not depend on what is stored.
enum Rules {
    /// The present, as a caller says it: from 1970 on, and one that RFC 3339 can write. A record has no other as its
    /// creation, and reading one asks for that, too. All changes, reads, sweeps and backups ask first.
    @inline(__always)
    static func check(now: Timestamp) throws(StoreError) {
        // Negative ones are the largest.
        guard UInt64(bitPattern: now.milliseconds) <= UInt64(StoreLimits.expiryMillisecondsMax)
        else { throw refuse(now: now) }
    }

    @inline(never)
    private static func refuse(now: Timestamp) -> StoreError {
        refuse(
            .now,
            "is \(now.milliseconds) ms since 1970; it must be from 0 to \(StoreLimits.expiryMillisecondsMax), before the year 10000"
        )
    }

    /// How many entries a page may have: the same bounds as a daemon's.
    static func check(limit: Int) throws(StoreError) {
        guard limit >= 1, limit <= StoreLimits.feedPageLimitMax else {
            throw refuse(
                .limit, "is \(limit); it must be 1 to \(StoreLimits.feedPageLimitMax)")
        }
    }

    /// A moment at which something ends: after the present, and one that RFC 3339 can write.
    static func check(end moment: Timestamp, asOf now: Timestamp) throws(StoreError) {
        try check(now: now)
        // Not before 1970 either: such a key would sort after all others.
        guard moment > now, moment.milliseconds > 0,
            moment.milliseconds <= StoreLimits.expiryMillisecondsMax
        else {
            throw refuse(
                .expiry,
                "is \(moment.milliseconds) ms since 1970; it must be after the current time, \(now.milliseconds), and before the year 10000"
            )
        }
    }

    static func check(_ expiry: Expiry, asOf now: Timestamp) throws(StoreError) {
        try check(end: expiry.moment(keeping: nil, asOf: now), asOf: now)
    }

    static func check(displayTTLSeconds seconds: UInt32) throws(StoreError) {
        guard seconds <= StoreLimits.displayTTLSecondsMax else {
            throw refuse(
                .displayTTL,
                "is \(seconds) seconds; the limit is \(StoreLimits.displayTTLSecondsMax)",
                limit: Int(StoreLimits.displayTTLSecondsMax))
        }
    }

    static func check(dataByteCount count: Int) throws(StoreError) {
        guard count > 0, count <= StoreLimits.dataByteCountMax else {
            throw refuse(
                .data,
                "is \(count) bytes long; it must have 1 to \(StoreLimits.dataByteCountMax) bytes",
                limit: StoreLimits.dataByteCountMax)
        }
    }

    /// What a publisher may say but texts; what the store keeps itself is not looked at.
    static func check(_ details: NotificationDetails) throws(StoreError) {
        if let actions = details.actions { try check(actions) }
        try check(platforms: details.platforms)
        try check(displayTTLSeconds: details.displayTTLSeconds)
        if let data = details.data { try check(dataByteCount: data.bytes.count) }
    }

    /// So many at the most, and no two the same.
    static func check(platforms: [String]) throws(StoreError) {
        guard platforms.count <= StoreLimits.platformCountMax else {
            throw refuse(
                .platforms, "are \(platforms.count); the limit is \(StoreLimits.platformCountMax)",
                limit: StoreLimits.platformCountMax)
        }
        for (index, platform) in platforms.enumerated() {
            try TextKind.platform.check(platform)
            guard !platforms[..<index].contains(where: { $0.isSame(as: platform) }) else {
                throw refuse(.platforms, "have \"\(platform)\" twice")
            }
        }
    }

    /// Buttons: so many at the most, no two with one identifier, none with a reserved one.
    static func check(_ actions: [NotificationAction]) throws(StoreError) {
        guard actions.count <= StoreLimits.actionCountMax else {
            throw refuse(
                .actions, "are \(actions.count); the limit is \(StoreLimits.actionCountMax)",
                limit: StoreLimits.actionCountMax)
        }
        for (index, action) in actions.enumerated() {
            let identifier = action.identifier
            try TextKind.actionIdentifier.check(identifier)
            try TextKind.actionTitle.check(action.title)
            guard !ActionResponse.isReserved(identifier) else {
                throw refuse(
                    .actions, "have the identifier \"\(identifier)\", which is reserved")
            }
            guard !actions[..<index].contains(where: { $0.identifier.isSame(as: identifier) })
            else { throw refuse(.actions, "have the identifier \"\(identifier)\" twice") }
        }
    }

    static func refuse(
        _ field: InvalidInput.Field, _ reason: String, limit: Int? = nil
    ) -> StoreError {
        .invalid(InvalidInput(field: field, reason: reason, limit: limit))
    }
}

extension TextKind {
    /// Throws what is wrong with a text; nil is right, and so is no text to show.
    func check(_ text: String?) throws(StoreError) {
        guard let text,
            let fault = fault(in: text.utf8.span.bytes, mayBeEmpty: mayBeEmpty)
        else { return }
        throw .invalid(InvalidInput(self, fault))
    }

    /// A stored text; nil: it is not as it was when it was checked.
    func stored(_ value: RawSpan) -> String? {
        value.byteCount <= byteCountMax && (value.byteCount > 0 || mayBeEmpty)
            ? value.text() : nil
    }
}
