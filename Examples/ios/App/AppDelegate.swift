import Foundation
import RichPush
import UIKit
import UserNotifications

/// The app's part: registration and silent pushes.
final class AppDelegate: UIResponder, UIApplicationDelegate {
    private let responses = ResponseHandler()

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        let center = UNUserNotificationCenter.current()
        center.delegate = responses
        center.requestAuthorization(options: [.alert, .sound, .badge]) { _, _ in }
        application.registerForRemoteNotifications()
        return true
    }

    /// The device's token goes to your backend: `PUT /devices` of Examples/python/backend.py.
    func application(
        _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data
    ) {
        let text = token.map { String(format: "%02x", $0) }.joined()
        Task { await Session.register(apnsToken: text) }
    }

    /// A silent push: the app fetches the picture, and shows the notification itself.
    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult {
        guard let push = RichPushMessage(userInfo: userInfo) else { return .noData }
        let content = UNMutableNotificationContent()
        content.title = push.title ?? ""
        content.body = push.message ?? ""
        content.userInfo = ["richId": push.id]
        if let client = Session.client, let notification = try? await client.notification(push.id) {
            // The user has answered on another device.
            guard notification.actionState == "none" else { return .noData }
            if let category = try? await Buttons.register(for: notification, client) {
                content.categoryIdentifier = category
            }
        }
        if let url = push.url,
            let payload = try? await PayloadDownload().run(
                url, into: FileManager.default.temporaryDirectory),
            let attachment = try? UNNotificationAttachment(
                identifier: push.id, url: payload.file, options: nil)
        {
            content.attachments = [attachment]
        }
        let request = UNNotificationRequest(identifier: push.id, content: content, trigger: nil)
        do {
            try await UNUserNotificationCenter.current().add(request)
            return .newData
        } catch {
            return .failed
        }
    }
}

/// What the user does with a notification.
final class ResponseHandler: NSObject, UNUserNotificationCenterDelegate {
    /// A tap, a button or a dismissal. It is recorded, so that the user's other devices withdraw the notification.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse
    ) async {
        let content = response.notification.request.content
        guard let id = content.userInfo["richId"] as? String, let client = Session.client else {
            return
        }
        let action =
            switch response.actionIdentifier {
            case UNNotificationDefaultActionIdentifier: "default"
            case UNNotificationDismissActionIdentifier: "dismiss"
            default: response.actionIdentifier
            }
        try? await client.respond(to: id, action: action)
    }
}
