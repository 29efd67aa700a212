internal import BlobJSON
internal import Bytes

/// Rules for what notifications say that do not depend on what is stored.
enum Rules {
    /// A moment at which something ends: behind the present, and one that RFC 3339 can write.
    static func check(end moment: Timestamp, asOf now: Timestamp) throws(StoreError) {
        // Not before 1970 either: such a key would sort behind all others.
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

    static func check(owner: String?) throws(StoreError) {
        guard let owner else { return }
        try checkFilled(owner, .owner, StoreLimits.ownerByteCountMax)
    }

    static func check(message: String?) throws(StoreError) {
        guard let message else { return }
        try Names.checkText(
            message, .message, byteCountMax: StoreLimits.messageByteCountMax,
            allowsLineBreaks: true)
    }

    static func check(title: String?) throws(StoreError) {
        guard let title else { return }
        try Names.checkText(
            title, .title, byteCountMax: StoreLimits.titleByteCountMax, allowsLineBreaks: false)
    }

    static func check(app: String?) throws(StoreError) {
        guard let app else { return }
        try Names.check(app, .app, byteCountMax: StoreLimits.appByteCountMax)
    }

    static func check(richType: String?) throws(StoreError) {
        guard let richType else { return }
        try Names.checkText(
            richType, .richType, byteCountMax: StoreLimits.richTypeByteCountMax,
            allowsLineBreaks: false)
    }

    static func check(device: String?) throws(StoreError) {
        guard let device else { return }
        try Names.check(device, .device, byteCountMax: StoreLimits.deviceByteCountMax)
    }

    static func check(category: String) throws(StoreError) {
        try Names.check(category, .category, byteCountMax: StoreLimits.categoryByteCountMax)
    }

    static func check(group: String) throws(StoreError) {
        try checkFilled(group, .group, StoreLimits.groupByteCountMax)
    }

    static func check(displayTTLSeconds seconds: UInt32) throws(StoreError) {
        guard seconds <= StoreLimits.displayTTLSecondsMax else {
            throw refuse(
                .displayTTL,
                "is \(seconds) seconds; the limit is \(StoreLimits.displayTTLSecondsMax)")
        }
    }

    static func check(dataByteCount count: Int) throws(StoreError) {
        guard count > 0, count <= StoreLimits.dataByteCountMax else {
            throw refuse(
                .data,
                "is \(count) bytes long; it must have 1 to \(StoreLimits.dataByteCountMax) bytes")
        }
    }

    /// What a publisher may say; what the store keeps itself is not looked at.
    static func check(_ details: NotificationDetails) throws(StoreError) {
        try check(title: details.title)
        try check(app: details.app)
        if let category = details.category { try check(category: category) }
        if let group = details.group { try check(group: group) }
        if let actions = details.actions { try check(actions) }
        try check(displayTTLSeconds: details.displayTTLSeconds)
        if let data = details.data { try check(dataByteCount: data.bytes.count) }
    }

    /// Buttons: so many at the most, no two with one identifier, none with a reserved one.
    static func check(_ actions: [NotificationAction]) throws(StoreError) {
        guard actions.count <= StoreLimits.actionCountMax else {
            throw refuse(
                .actions, "are \(actions.count); the limit is \(StoreLimits.actionCountMax)")
        }
        for (index, action) in actions.enumerated() {
            let identifier = action.identifier
            try Names.check(
                identifier, .actions, byteCountMax: StoreLimits.actionIdentifierByteCountMax)
            try Names.checkText(
                action.title, .actions, byteCountMax: StoreLimits.actionTitleByteCountMax,
                allowsLineBreaks: false)
            guard !ActionResponse.isReserved(identifier) else {
                throw refuse(
                    .actions, "have the identifier \"\(identifier)\", which is reserved")
            }
            guard !actions[..<index].contains(where: { $0.identifier.isSame(as: identifier) })
            else { throw refuse(.actions, "have the identifier \"\(identifier)\" twice") }
        }
    }

    /// A text that is not empty.
    private static func checkFilled(
        _ text: String, _ field: InvalidInput.Field, _ byteCountMax: Int
    ) throws(StoreError) {
        try Names.checkText(
            text, field, byteCountMax: byteCountMax, allowsLineBreaks: false, mayBeEmpty: false)
    }

    static func refuse(_ field: InvalidInput.Field, _ reason: String) -> StoreError {
        .invalid(InvalidInput(field: field, reason: reason))
    }
}
