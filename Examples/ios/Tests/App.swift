// The code of ../App on a terminal, with ../Stubs in the place of iOS:
//
//     app SITE alert PUSH                what the extension shows, and after how long
//     app SITE silent PUSH SHOWN...      what the app removes from the notifications that are shown
//     app SITE active COUNT SHOWN...     likewise when it becomes active, until it has removed so many
//     app SITE respond ID ACTION

import Foundation
import UIKit
import UserNotifications

@main @MainActor struct App {
    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        let defaults = UserDefaults(suiteName: "group.com.example.push")
        for (name, text) in [("site", words[0]), ("session", "S"), ("token", "T")] {
            defaults?.set(text, forKey: name)
        }
        let app = AppDelegate()
        let center = UNUserNotificationCenter.current()
        switch words[1] {
        case "alert":
            let begin = Date()
            let shown = await withCheckedContinuation { continuation in
                NotificationService().didReceive(
                    UNNotificationRequest("0", push(words[2])),
                    withContentHandler: { content in
                        let kinds = content.attachments.map(\.url.pathExtension)
                        continuation.resume(
                            returning: "\(kinds.first ?? "text")|\(content.categoryIdentifier)")
                    })
            }
            print("\(shown)|\(Int(Date().timeIntervalSince(begin)))")
        case "silent":
            center.delivered = words[3...].map(notification)
            print(await app.application(.shared, didReceiveRemoteNotification: push(words[2])))
        case "active":
            center.delivered = words[3...].map(notification)
            _ = app.application(.shared, didFinishLaunchingWithOptions: nil)
            NotificationCenter.default.post(
                name: UIApplication.didBecomeActiveNotification, object: nil)
            while center.removedCount < Int(words[2]) ?? 0 {
                try await Task.sleep(nanoseconds: 20_000_000)
            }
        default:
            await app.userNotificationCenter(
                center, didReceive: UNNotificationResponse(notification(words[2]), words[3]))
        }
    }

    private static func push(_ text: String) -> [AnyHashable: Any] {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
    }

    /// One that was shown. iOS identifies it by a name of its own.
    private static func notification(_ id: String) -> UNNotification {
        UNNotification(UNNotificationRequest("shown-\(id)", ["richId": id]))
    }
}
