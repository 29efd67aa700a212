// The declarations of Apple's UIKit that ../App uses, as far as ../Tests need them where there is no Xcode.

import Foundation

@MainActor open class UIResponder: NSObject {
    public override init() {}
}

@MainActor open class UIApplication: UIResponder {
    public struct LaunchOptionsKey: Hashable, Sendable {}
    public static let shared = UIApplication()
    public nonisolated static let didBecomeActiveNotification = Notification.Name("active")
    open func registerForRemoteNotifications() {}
    open func beginBackgroundTask(
        withName name: String?, expirationHandler: (@MainActor @Sendable () -> Void)?
    ) -> UIBackgroundTaskIdentifier { UIBackgroundTaskIdentifier(rawValue: 0) }
    open func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
}

public struct UIBackgroundTaskIdentifier: RawRepresentable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
}

open class UIImage: NSObject {
    public init?(contentsOfFile path: String) {}
    open var size: CGSize { CGSize(width: 2_000, height: 1_000) }
    open func preparingThumbnail(of size: CGSize) -> UIImage? { size.width == 1_024 ? self : nil }
    open func pngData() -> Data? { Data("PNG".utf8) }
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
        _ application: UIApplication, didFailToRegisterForRemoteNotificationsWithError error: any Error)
    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult
}
