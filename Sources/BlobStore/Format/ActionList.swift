internal import Bytes

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
