import Foundation
import RichPush
import UIKit
// Its callbacks hand over objects that are not Sendable.
@preconcurrency import UserNotifications

/// The app's part: registration, silent pushes, and what the user does with a notification.
///
/// In a SwiftUI app: `@UIApplicationDelegateAdaptor(AppDelegate.self) var delegate`.
@MainActor final class AppDelegate: UIResponder, UIApplicationDelegate {
    private let outbox = ResponseOutbox(
        folder: FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)[0]
            .appendingPathComponent("responses"))

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        let center = UNUserNotificationCenter.current()
        center.delegate = self
        center.requestAuthorization(options: [.alert, .sound, .badge]) { _, _ in }
        // The app's delegate itself is not told of it in an app with scenes.
        _ = NotificationCenter.default.addObserver(
            forName: UIApplication.didBecomeActiveNotification, object: nil, queue: .main
        ) { _ in MainActor.assumeIsolated { self.didBecomeActive() } }
        return true
    }

    /// Call this from your sign-in.
    func signIn(site: String, user: String, password: String) async throws {
        try await Session.signIn(site: site, user: user, password: password)
        UIApplication.shared.registerForRemoteNotifications()
    }

    /// Registration is repeated: iOS may have given the device another token, the one for blobd is renewed, and what failed
    /// the last time is tried again.
    private func didBecomeActive() {
        guard Session.isSignedIn else { return }
        UIApplication.shared.registerForRemoteNotifications()
        // iOS delays silent pushes, and starts no app for them that its user has quit.
        Task {
            await withdraw { id in
                do {
                    return try await Session.call { try await $0.notification(id) }.actionState
                        != "none"
                } catch {
                    return (error as? Failure)?.status == 404
                }
            }
        }
    }

    func application(
        _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data
    ) { register(token.map { String(format: "%02x", $0) }.joined()) }

    /// There is no network, or the app has no entitlement. It can still call blobd.
    func application(
        _ application: UIApplication,
        didFailToRegisterForRemoteNotificationsWithError error: any Error
    ) {
        NSLog("There will be no pushes: %@", "\(error)")
        register(nil)
    }

    private func register(_ pushToken: String?) {
        Task {
            do {
                try await Session.register(pushToken: pushToken)
            } catch {
                NSLog("The backend has not registered the device: %@", "\(error)")
            }
            await sendResponses()
        }
    }

    /// A silent push: the user has answered on another device.
    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult {
        guard let push = RichPushMessage(userInfo: userInfo), push.state != nil else {
            return .noData
        }
        await withdraw { $0 == push.id }
        await sendResponses()
        return .newData
    }

    /// Removes notifications from the screen, by blobd's id.
    private func withdraw(where isAnswered: (String) async -> Bool) async {
        let center = UNUserNotificationCenter.current()
        for shown in await center.deliveredNotifications() {
            if let id = shown.request.content.userInfo["richId"] as? String, await isAnswered(id) {
                center.removeDeliveredNotifications(withIdentifiers: [shown.request.identifier])
            }
        }
    }

    /// Sends what the user has done. Without a network it stays in the outbox until the app is active or woken again.
    private func sendResponses() async {
        // Else iOS suspends the app as soon as it has handled the response.
        let task = UIApplication.shared.beginBackgroundTask(
            withName: "responses", expirationHandler: nil)
        defer { UIApplication.shared.endBackgroundTask(task) }
        let outbox = outbox
        try? await within(20) { try await Session.call { try await outbox.send(with: $0) } }
    }
}

// On the main actor: UIKit's code after these callbacks must run on the main thread.
extension AppDelegate: @MainActor UNUserNotificationCenterDelegate {
    /// Without it, iOS shows nothing while the app is open.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification
    ) async -> UNNotificationPresentationOptions { [.banner, .list, .sound] }

    /// A tap, a button or a dismissal. The user's other devices withdraw the notification.
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse
    ) async {
        let content = response.notification.request.content
        guard let id = content.userInfo["richId"] as? String else { return }
        let action =
            switch response.actionIdentifier {
            case UNNotificationDefaultActionIdentifier: "default"
            case UNNotificationDismissActionIdentifier: "dismiss"
            default: response.actionIdentifier
            }
        try? outbox.add(action, to: id)
        await sendResponses()
    }
}
