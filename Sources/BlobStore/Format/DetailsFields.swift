internal import BlobJSON
internal import Bytes

/// The fields of a record that say more than its owner and its texts; a record without details has
/// none of them.
enum DetailsFields {
    private static let stateByteCount = 8
    private static let responseHeaderByteCount = 20
    /// The bit of a response's flags that says so; above it stands the content extension's answer.
    private static let staysOnScreen: UInt8 = 1

    // MARK: Writing

    /// The fields of `details`, in the order of their tags. What says nothing is left out.
    ///
    /// - Parameter revision: the record's; a sequence that is the same is not written.
    static func bytes(_ details: NotificationDetails, revision: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        append(.category, details.category, to: &bytes)
        append(.group, details.group, to: &bytes)
        let state = state(details)
        if state.contains(where: { $0 != 0 }) { append(.state, state, to: &bytes) }
        if let actions = details.actions {
            var list: [UInt8] = []
            ActionList.append(actions, to: &list)
            append(.actions, list, to: &bytes)
        }
        if let data = details.data { append(.data, data.bytes, to: &bytes) }
        append(.device, details.device, to: &bytes)
        if details.sequence != 0, details.sequence != revision {
            var sequence: [UInt8] = []
            sequence.append(littleEndian: details.sequence)
            append(.sequence, sequence, to: &bytes)
        }
        if !details.responses.isEmpty {
            append(.responses, responses(details.responses), to: &bytes)
        }
        append(.title, details.title, to: &bytes)
        append(.app, details.app, to: &bytes)
        if !details.platforms.isEmpty {
            append(.platforms, platforms(details.platforms), to: &bytes)
        }
        append(.targetHost, details.targetHost, to: &bytes)
        if details.categoryRevision != 0 {
            var number: [UInt8] = []
            number.append(littleEndian: details.categoryRevision)
            append(.categoryRevision, number, to: &bytes)
        }
        return bytes
    }

    private static func append(_ field: RecordField, _ text: String?, to bytes: inout [UInt8]) {
        if let text { append(field, Array(text.utf8), to: &bytes) }
    }

    private static func append(_ field: RecordField, _ value: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(littleEndian: field.rawValue)
        bytes.append(littleEndian: UInt16(0))
        bytes.append(littleEndian: UInt32(value.count))
        bytes.append(contentsOf: value)
    }

    private static func state(_ details: NotificationDetails) -> [UInt8] {
        var bytes: [UInt8] = [
            details.isRead ? 1 : 0, details.actionState.rawValue, details.priority.rawValue, 0,
        ]
        bytes.append(littleEndian: details.displayTTLSeconds)
        return bytes
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

    /// Takes over what `value` says.
    ///
    /// - Parameter revision: the record's.
    /// - Returns: false when it is not what the field has.
    static func read(
        _ field: RecordField, _ value: RawSpan, revision: UInt64,
        into details: inout NotificationDetails
    ) -> Bool {
        switch field {
        case .owner, .message, .richType: return false
        case .category:
            details.category = text(value, byteCountMax: StoreLimits.categoryByteCountMax)
            return details.category != nil
        case .group:
            details.group = text(value, byteCountMax: StoreLimits.groupByteCountMax)
            return details.group != nil
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
        case .device:
            details.device = text(value, byteCountMax: StoreLimits.deviceByteCountMax)
            return details.device != nil
        case .sequence:
            guard value.byteCount == 8 else { return false }
            details.sequence = value.integer(0)
            return details.sequence > 0 && details.sequence <= revision
        case .responses: return readResponses(value, into: &details)
        case .title:
            guard value.byteCount <= StoreLimits.titleByteCountMax else { return false }
            details.title = value.text()
            return true
        case .app:
            details.app = text(value, byteCountMax: StoreLimits.appByteCountMax)
            return details.app != nil
        case .platforms: return readPlatforms(value, into: &details)
        case .targetHost:
            details.targetHost = text(value, byteCountMax: StoreLimits.targetHostByteCountMax)
            return details.targetHost != nil
        case .categoryRevision:
            guard value.byteCount == 8, details.category != nil else { return false }
            details.categoryRevision = value.integer(0)
            return details.categoryRevision > 0 && details.categoryRevision < revision
        }
    }

    private static func text(_ value: RawSpan, byteCountMax: Int) -> String? {
        value.byteCount > 0 && value.byteCount <= byteCountMax ? value.text() : nil
    }

    private static func readPlatforms(
        _ value: RawSpan, into details: inout NotificationDetails
    ) -> Bool {
        var offset = 0
        while offset < value.byteCount {
            let start = offset + 1
            let end = start + Int(value.byte(offset))
            guard end <= value.byteCount, details.platforms.count < StoreLimits.platformCountMax,
                let platform = text(
                    value.extracting(start..<end), byteCountMax: StoreLimits.platformByteCountMax)
            else { return false }
            details.platforms.append(platform)
            offset = end
        }
        return !details.platforms.isEmpty
    }

    private static func readState(
        _ value: RawSpan, into details: inout NotificationDetails
    ) -> Bool {
        guard value.byteCount == stateByteCount, value.byte(0) <= 1,
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
