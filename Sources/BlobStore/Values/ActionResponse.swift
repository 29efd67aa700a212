internal import Bytes
internal import Notifications

/// What an owner chose.
public struct ActionResponse: Sendable {
    /// Of which notification.
    public var id: String
    /// `default`, `dismiss`, or the identifier of one of its actions.
    public var action: String
    /// Makes it the same when it comes again from the same device, 1…64 bytes; nil: each is a new one.
    public var key: String?
    /// Whether the notification stays on screen: neither state nor read changes then.
    public var staysOnScreen = false
    /// What the app's content extension answered, where there is one. ``staysOnScreen`` must agree:
    /// it is true with `doNotDismiss` and false with the others.
    public var contentExtension: ContentExtensionAnswer?
    /// The device it comes from.
    public var device: String?
    /// The notifications that exist for this change; nil: all.
    public var scope: NotificationScope?

    /// A response.
    public init(id: String, action: String, key: String? = nil) {
        self.id = id
        self.action = action
        self.key = key
    }
}

extension ActionResponse {
    /// Opens the notification, as a tap on it does.
    static let defaultAction = "default"
    /// Puts it away.
    static let dismissAction = "dismiss"

    /// Whether no action may have it as its identifier.
    static func isReserved(_ identifier: String) -> Bool {
        identifier.isSame(as: defaultAction) || identifier.isSame(as: dismissAction)
    }

    func check() throws(StoreError) {
        try TextKind.responseAction.check(action)
        try TextKind.responseKey.check(key)
        try TextKind.device.check(device)
        guard !staysOnScreen || !action.isSame(as: Self.dismissAction) else {
            throw Rules.refuse(
                .response,
                "\"\(Self.dismissAction)\" excludes dismissed: false"
            )
        }
        if let answer = contentExtension, (answer == .doNotDismiss) != staysOnScreen {
            throw Rules.refuse(
                .response,
                "contradicts itself: extension is \(answer.name), and the notification \(staysOnScreen ? "stays" : "does not stay") on screen"
            )
        }
    }

    /// What it makes of `live`, as the change `revision`.
    func applied(to live: Record, asOf now: Timestamp, revision: UInt64) -> Record {
        var record = live
        var details = live.details
        if action.isSame(as: Self.dismissAction) {
            details.actionState = .dismissed
        } else if !staysOnScreen {
            details.actionState = .activated
            details.isRead = true
        }
        let excess = details.responses.count + 1 - StoreLimits.responseCountMax
        if excess > 0 { details.responses.removeFirst(excess) }
        details.responses.append(
            RecordedResponse(
                action: action, key: key, device: device, at: now, revision: revision,
                staysOnScreen: staysOnScreen, contentExtension: contentExtension))
        details.device = device
        record.details = details
        return record
    }
}
