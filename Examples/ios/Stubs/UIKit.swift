// The declarations of Apple's UIKit that ../App uses, for a check of its types where there is no Xcode.

import Foundation

@MainActor open class UIResponder: NSObject {
    public override init() {}
}

@MainActor open class UIApplication: UIResponder {
    public struct LaunchOptionsKey: Hashable, Sendable {}
    open func registerForRemoteNotifications() {}
}

public enum UIBackgroundFetchResult: UInt, Sendable { case newData, noData, failed }

@MainActor public protocol UIApplicationDelegate: AnyObject {
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    func application(
        _ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data)
    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult
}
