// The declarations of Apple's UserNotifications that ../App uses, as far as ../Tests need them where there is no Xcode.

import Foundation

open class UNNotificationServiceExtension: NSObject {
    open func didReceive(
        _ request: UNNotificationRequest,
        withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {}
    open func serviceExtensionTimeWillExpire() {}
}

open class UNNotificationContent: NSObject {
    fileprivate var stored: (userInfo: [AnyHashable: Any], category: String, attachments: [UNNotificationAttachment])
    public init(userInfo: [AnyHashable: Any]) { stored = (userInfo, "", []) }
    open var userInfo: [AnyHashable: Any] { stored.userInfo }
    open var categoryIdentifier: String { stored.category }
    open var attachments: [UNNotificationAttachment] { stored.attachments }
    open override func mutableCopy() -> Any { UNMutableNotificationContent(userInfo: userInfo) }
}

open class UNMutableNotificationContent: UNNotificationContent {
    open override var categoryIdentifier: String {
        get { stored.category }
        set { stored.category = newValue }
    }
    open override var attachments: [UNNotificationAttachment] {
        get { stored.attachments }
        set { stored.attachments = newValue }
    }
}

open class UNNotificationRequest: NSObject {
    public let identifier: String
    public let content: UNNotificationContent
    public init(_ identifier: String, _ userInfo: [AnyHashable: Any]) {
        self.identifier = identifier
        content = UNNotificationContent(userInfo: userInfo)
    }
}

open class UNNotification: NSObject {
    public let request: UNNotificationRequest
    public init(_ request: UNNotificationRequest) { self.request = request }
}

open class UNNotificationResponse: NSObject {
    public let notification: UNNotification
    public let actionIdentifier: String
    public init(_ notification: UNNotification, _ actionIdentifier: String) {
        self.notification = notification
        self.actionIdentifier = actionIdentifier
    }
}

public let UNNotificationDefaultActionIdentifier = "default"
public let UNNotificationDismissActionIdentifier = "dismiss"

open class UNNotificationAttachment: NSObject {
    public let url: URL
    /// Refuses what iOS refuses.
    public init(identifier: String, url: URL, options: [AnyHashable: Any]? = nil) throws {
        guard ["jpg", "png", "gif"].contains(url.pathExtension) else { throw CocoaError(.fileReadUnknown) }
        self.url = url
    }
}

public struct UNNotificationActionOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let authenticationRequired = UNNotificationActionOptions(rawValue: 1)
    public static let destructive = UNNotificationActionOptions(rawValue: 2)
    public static let foreground = UNNotificationActionOptions(rawValue: 4)
}

open class UNNotificationAction: NSObject {
    public init(identifier: String, title: String, options: UNNotificationActionOptions = []) {}
}

public struct UNNotificationCategoryOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let customDismissAction = UNNotificationCategoryOptions(rawValue: 1)
}

open class UNNotificationCategory: NSObject {
    public init(
        identifier: String, actions: [UNNotificationAction], intentIdentifiers: [String],
        options: UNNotificationCategoryOptions = []
    ) { self.identifier = identifier }
    public let identifier: String
}

public struct UNAuthorizationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let badge = UNAuthorizationOptions(rawValue: 1)
    public static let sound = UNAuthorizationOptions(rawValue: 2)
    public static let alert = UNAuthorizationOptions(rawValue: 4)
}

public struct UNNotificationPresentationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let sound = UNNotificationPresentationOptions(rawValue: 2)
    public static let list = UNNotificationPresentationOptions(rawValue: 8)
    public static let banner = UNNotificationPresentationOptions(rawValue: 16)
}

public protocol UNUserNotificationCenterDelegate: AnyObject {
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification
    ) async -> UNNotificationPresentationOptions
    func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse) async
}

open class UNUserNotificationCenter: NSObject, @unchecked Sendable {
    private static let only = UNUserNotificationCenter()
    public static func current() -> UNUserNotificationCenter { only }
    public var delivered: [UNNotification] = []
    public var removedCount = 0
    open weak var delegate: (any UNUserNotificationCenterDelegate)?
    open func requestAuthorization(
        options: UNAuthorizationOptions = [],
        completionHandler: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {}
    open func deliveredNotifications() async -> [UNNotification] { delivered }
    open func removeDeliveredNotifications(withIdentifiers identifiers: [String]) {
        print("removed", identifiers.joined(separator: " "))
        removedCount += identifiers.count
    }
    open func setNotificationCategories(_ categories: Set<UNNotificationCategory>) {}
    open func notificationCategories() async -> Set<UNNotificationCategory> { [] }
}
