import Foundation
import RichPush
import UserNotifications

/// The notification service extension: fetches the picture of an alert before iOS shows it.
///
/// iOS starts it for a push with `mutable-content`, which blobd's alerts have, and gives it about 30 seconds and 24 MB. The
/// picture may take 15 seconds of these and the buttons 8.
final class NotificationService: UNNotificationServiceExtension {
    private var delivery: Delivery?
    private var work: Task<Void, Never>?

    override func didReceive(
        _ request: UNNotificationRequest,
        withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {
        guard let push = RichPushMessage(userInfo: request.content.userInfo),
            let content = request.content.mutableCopy() as? UNMutableNotificationContent
        else { return contentHandler(request.content) }
        let delivery = Delivery(content, contentHandler)
        self.delivery = delivery
        work = Task {
            // The picture first: slow buttons do not cost it.
            await delivery.attachPicture(of: push)
            await delivery.addButtons(of: push)
            delivery.deliver()
        }
    }

    /// The time is nearly over: what is there is shown.
    override func serviceExtensionTimeWillExpire() {
        work?.cancel()
        delivery?.deliver()
    }
}

/// What will be shown, and iOS's handler, which is called exactly once.
///
/// Shared between threads, and safe: both are used under the lock only.
private final class Delivery: @unchecked Sendable {
    private let lock = NSLock()
    private let content: UNMutableNotificationContent
    private var handler: ((UNNotificationContent) -> Void)?

    init(
        _ content: UNMutableNotificationContent,
        _ handler: @escaping (UNNotificationContent) -> Void
    ) {
        self.content = content
        self.handler = handler
    }

    /// Changes what will be shown, unless it is shown already.
    private func change(_ body: (UNMutableNotificationContent) -> Void) {
        lock.withLock { if handler != nil { body(content) } }
    }

    func deliver() {
        lock.withLock {
            handler?(content)
            handler = nil
        }
    }

    /// Without a picture the notification is shown as the push has it.
    func attachPicture(of push: RichPushMessage) async {
        guard let url = push.url,
            let attachment = try? await Picture.attachment(of: push.id, from: url)
        else { return }
        change { $0.attachments = [attachment] }
    }

    /// Without an answer of the site, the notification keeps the category that the push names.
    func addButtons(of push: RichPushMessage) async {
        let buttons = try? await within(8) {
            try await Session.call { try await $0.buttons(of: $0.notification(push.id)) }
        }
        guard let buttons else { return }
        let category = await Buttons.register(buttons)
        change { $0.categoryIdentifier = category }
    }
}
