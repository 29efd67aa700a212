import RichPush
@preconcurrency import UserNotifications

/// The buttons of notifications, which iOS shows by their category.
///
/// Only the extension registers categories: whoever sets them replaces all of the app's. It may have several
/// notifications at once, so it keeps what it has set.
@MainActor enum Buttons {
    private static var categories: Set<UNNotificationCategory>?

    /// Registers the category of a notification, with or without buttons, and returns its identifier.
    static func register(_ buttons: [DeviceClient.Notification.Action]) async -> String {
        // Notifications with the same buttons share a category, so that there are not more and more of them.
        let words = buttons.map { "\($0.identifier) \($0.title) \(options(of: $0).rawValue)" }
        let category = UNNotificationCategory(
            identifier: "rich " + words.joined(separator: ", "),
            actions: buttons.map {
                UNNotificationAction(
                    identifier: $0.identifier, title: $0.title, options: options(of: $0))
            },
            // The app is told of a dismissal, which withdraws the notification from the user's other devices.
            intentIdentifiers: [], options: [.customDismissAction])
        let center = UNUserNotificationCenter.current()
        let known = await center.notificationCategories()
        // From here to the call that sets them, nothing is awaited.
        categories = (categories ?? known).union([category])
        center.setNotificationCategories(categories ?? [])
        // Once iOS has answered this, it knows the category.
        _ = await center.notificationCategories()
        return category.identifier
    }

    private static func options(
        of button: DeviceClient.Notification.Action
    ) -> UNNotificationActionOptions {
        var options: UNNotificationActionOptions = []
        if button.foreground { options.insert(.foreground) }
        if button.destructive { options.insert(.destructive) }
        if button.authenticationRequired { options.insert(.authenticationRequired) }
        return options
    }
}
