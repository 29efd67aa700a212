internal import BlobJSON
internal import Bytes
internal import Notifications

/// The fields of a record: its texts, and what else its details have.
enum DetailsFields {
    private static let responseHeaderByteCount = 20
    /// The bit of a response's flags that says so; above it stands the content extension's answer.
    private static let staysOnScreen: UInt8 = 1

    // MARK: Writing

    /// Appends what `record` says, in the order of the tags. What says nothing is left out.
    static func append(_ record: Record, to bytes: inout [UInt8]) {
        append(record.owner, .owner, to: &bytes)
        append(record.message, .message, to: &bytes)
        append(record.richType, .richType, to: &bytes)
        // Most records say nothing more.
        guard let details = record.box?.value else { return appendSequence(record, to: &bytes) }
        for tag in RecordField.tags {
            if let field = TextField(rawValue: tag) {
                append(details[field], field, to: &bytes)
            } else if tag == RecordField.sequenceTag {
                appendSequence(record, to: &bytes)
            } else if let field = RecordField(rawValue: tag),
                let value = value(of: field, details)
            {
                append(tag, value.span.bytes, to: &bytes)
            }
        }
    }

    private static func append(_ text: String?, _ field: TextField, to bytes: inout [UInt8]) {
        if let text { append(field.rawValue, text.utf8.span.bytes, to: &bytes) }
    }

    private static func append(_ tag: UInt16, _ value: RawSpan, to bytes: inout [UInt8]) {
        let header = UInt64(tag) | UInt64(value.byteCount) << 32
        bytes.append(addingCapacity: RecordField.headerByteCount + value.byteCount) { room in
            room.append(first: RecordField.headerByteCount, of: header)
            room.append(value)
        }
    }

    /// One that is the record's revision is not written.
    private static func appendSequence(_ record: Record, to bytes: inout [UInt8]) {
        guard record.arrival != 0, record.arrival != record.revision else { return }
        let value: InlineArray<1, UInt64> = [record.arrival.littleEndian]
        append(RecordField.sequenceTag, value.span.bytes, to: &bytes)
    }

    private static func value(
        of field: RecordField, _ details: NotificationDetails
    ) -> [UInt8]? {
        var bytes: [UInt8] = []
        switch field {
        case .state:
            let word = state(details)
            guard word != 0 else { return nil }
            bytes.append(littleEndian: word)
        case .actions:
            guard let actions = details.actions else { return nil }
            ActionList.append(actions, to: &bytes)
        case .data: return details.data?.bytes
        case .responses:
            guard !details.responses.isEmpty else { return nil }
            bytes = responses(details.responses)
        case .platforms:
            guard !details.platforms.isEmpty else { return nil }
            bytes = platforms(details.platforms)
        case .categoryRevision:
            guard details.categoryRevision != 0 else { return nil }
            bytes.append(littleEndian: details.categoryRevision)
        }
        return bytes
    }

    /// Four bytes, of which the last is reserved, and the seconds; 0: nothing of it is said.
    private static func state(_ details: NotificationDetails) -> UInt64 {
        (details.isRead ? 1 : 0) | UInt64(details.actionState.rawValue) << 8
            | UInt64(details.priority.rawValue) << 16 | UInt64(details.displayTTLSeconds) << 32
    }

    private static func responses(_ responses: [RecordedResponse]) -> [UInt8] {
        var bytes: [UInt8] = []
        for response in responses {
            let key = response.key ?? ""
            let device = response.device ?? ""
            bytes.append(littleEndian: response.at.milliseconds)
            bytes.append(littleEndian: response.revision)
            bytes.append(flags(of: response))
            bytes.append(UInt8(key.utf8.count))
            bytes.append(UInt8(response.action.utf8.count))
            bytes.append(UInt8(device.utf8.count))
            bytes.append(contentsOf: key.utf8)
            bytes.append(contentsOf: response.action.utf8)
            bytes.append(contentsOf: device.utf8)
        }
        return bytes
    }

    /// Each with its length before it, which fits: the rules were checked when they came in.
    private static func platforms(_ platforms: [String]) -> [UInt8] {
        var bytes: [UInt8] = []
        for platform in platforms {
            bytes.append(UInt8(platform.utf8.count))
            bytes.append(contentsOf: platform.utf8)
        }
        return bytes
    }

    private static func flags(of response: RecordedResponse) -> UInt8 {
        (response.staysOnScreen ? staysOnScreen : 0)
            | (response.contentExtension?.rawValue ?? 0) << 1
    }

    // MARK: Reading

    /// Takes over what `value` says. `revision`: the record's. Returns false when it is not what the field has.
    static func read(
        _ field: RecordField, _ value: RawSpan, revision: UInt64,
        into details: inout NotificationDetails
    ) -> Bool {
        switch field {
        case .state: return readState(value, into: &details)
        case .actions:
            details.actions = ActionList.actions(value)
            return details.actions != nil
        case .data:
            guard value.byteCount > 0, value.byteCount <= StoreLimits.dataByteCountMax else {
                return false
            }
            details.data = JSONFragment(checked: value.array())
            return true
        case .responses: return readResponses(value, into: &details)
        case .platforms: return readPlatforms(value, into: &details)
        case .categoryRevision:
            guard value.byteCount == 8, details.category != nil else { return false }
            details.categoryRevision = value.integer(0)
            return details.categoryRevision > 0 && details.categoryRevision < revision
        }
    }

    private static func readPlatforms(
        _ value: RawSpan, into details: inout NotificationDetails
    ) -> Bool {
        var offset = 0
        while offset < value.byteCount {
            let start = offset + 1
            let end = start + Int(value.byte(offset))
            guard end <= value.byteCount, details.platforms.count < StoreLimits.platformCountMax,
                let platform = TextKind.platform.stored(value.extracting(start..<end))
            else { return false }
            details.platforms.append(platform)
            offset = end
        }
        return !details.platforms.isEmpty
    }

    private static func readState(
        _ value: RawSpan, into details: inout NotificationDetails
    ) -> Bool {
        guard value.byteCount == 8, value.byte(0) <= 1,
            let actionState = ActionState(rawValue: value.byte(1)),
            let priority = NotificationPriority(rawValue: value.byte(2))
        else { return false }
        details.isRead = value.byte(0) == 1
        details.actionState = actionState
        details.priority = priority
        details.displayTTLSeconds = value.integer(4)
        return true
    }

    private static func readResponses(
        _ value: RawSpan, into details: inout NotificationDetails
    ) -> Bool {
        var offset = 0
        while offset < value.byteCount {
            guard value.byteCount - offset >= responseHeaderByteCount,
                details.responses.count < StoreLimits.responseCountMax
            else { return false }
            let flags = value.byte(offset + 16)
            let keyEnd = offset + responseHeaderByteCount + Int(value.byte(offset + 17))
            let actionEnd = keyEnd + Int(value.byte(offset + 18))
            let end = actionEnd + Int(value.byte(offset + 19))
            let answer = ContentExtensionAnswer(rawValue: flags >> 1)
            let stays = flags & staysOnScreen != 0
            guard end <= value.byteCount, actionEnd > keyEnd, flags >> 1 == 0 || answer != nil,
                answer == nil || (answer == .doNotDismiss) == stays
            else { return false }
            let key = value.extracting(offset + responseHeaderByteCount..<keyEnd)
            let device = value.extracting(actionEnd..<end)
            details.responses.append(
                RecordedResponse(
                    action: value.extracting(keyEnd..<actionEnd).text(),
                    key: key.isEmpty ? nil : key.text(),
                    device: device.isEmpty ? nil : device.text(),
                    at: Timestamp(milliseconds: value.integer(offset)),
                    revision: value.integer(offset + 8),
                    staysOnScreen: stays, contentExtension: answer))
            offset = end
        }
        return !details.responses.isEmpty
    }
}

/// Actions as bytes: of a notification in its record, of a category in its entry.
enum ActionList {
    static let headerByteCount = 4
    private static let foreground: UInt8 = 1
    private static let destructive: UInt8 = 2
    private static let authentication: UInt8 = 4

    /// Appends `actions`. Their lengths fit their counts: the rules were checked when they came in.
    static func append(_ actions: [NotificationAction], to bytes: inout [UInt8]) {
        for action in actions {
            var flags: UInt8 = 0
            if action.isForeground { flags |= foreground }
            if action.isDestructive { flags |= destructive }
            if action.requiresAuthentication { flags |= authentication }
            bytes.append(flags)
            bytes.append(UInt8(action.identifier.utf8.count))
            bytes.append(littleEndian: UInt16(action.title.utf8.count))
            bytes.append(contentsOf: action.identifier.utf8)
            bytes.append(contentsOf: action.title.utf8)
        }
    }

    /// Reads all of `bytes`; nil when they are not actions, or too many.
    static func actions(_ bytes: RawSpan) -> [NotificationAction]? {
        var actions: [NotificationAction] = []
        var offset = 0
        while offset < bytes.byteCount {
            guard bytes.byteCount - offset >= headerByteCount,
                actions.count < StoreLimits.actionCountMax
            else { return nil }
            let flags = bytes.byte(offset)
            let identifierByteCount = Int(bytes.byte(offset + 1))
            let titleByteCount = Int(bytes.integer(offset + 2, as: UInt16.self))
            offset += headerByteCount
            guard identifierByteCount + titleByteCount <= bytes.byteCount - offset,
                identifierByteCount > 0, flags <= foreground | destructive | authentication
            else { return nil }
            let titleOffset = offset + identifierByteCount
            let end = titleOffset + titleByteCount
            actions.append(
                NotificationAction(
                    identifier: bytes.extracting(offset..<titleOffset).text(),
                    title: bytes.extracting(titleOffset..<end).text(),
                    isForeground: flags & foreground != 0,
                    isDestructive: flags & destructive != 0,
                    requiresAuthentication: flags & authentication != 0))
            offset = end
        }
        return actions
    }
}
