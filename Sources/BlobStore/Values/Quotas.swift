/// How much a store, and each owner in it, may have. 0: no limit. A change is refused where it makes a count grow
/// beyond its limit; a change that does not grow it is accepted.
public struct Quotas: Sendable, Hashable {
    /// Bytes of all blobs as stored: each once, compressed where it is. Those that nothing refers to, and
    /// that are about to be freed, do not count.
    public var byteCountMax = 0
    /// Notifications, those that have expired and are not removed yet included.
    public var notificationCountMax = 0
    /// Bytes of one owner's parts as given: each part in full, whatever it shares with others.
    public var ownerByteCountMax = 0
    /// Notifications of one owner.
    public var ownerNotificationCountMax = 0
    /// Free bytes of the file system with less of which nothing may grow.
    public var freeDiskByteCountMin = 0

    /// No limits.
    public init() {}

    package func limit(of setting: QuotaSetting) -> Int {
        switch setting {
        case .byteCountMax: byteCountMax
        case .notificationCountMax: notificationCountMax
        case .ownerByteCountMax: ownerByteCountMax
        case .ownerNotificationCountMax: ownerNotificationCountMax
        case .freeDiskByteCountMin: freeDiskByteCountMin
        }
    }

    var isAny: Bool {
        byteCountMax | notificationCountMax | ownerByteCountMax | ownerNotificationCountMax
            | freeDiskByteCountMin != 0
    }

    var needsStoredByteCount: Bool { byteCountMax | freeDiskByteCountMin != 0 }

    var needsOwner: Bool { ownerByteCountMax | ownerNotificationCountMax != 0 }
}

/// Which of the ``Quotas`` a change was refused for.
public enum QuotaSetting: String, Sendable, Hashable, CaseIterable {
    case byteCountMax = "max-bytes"
    case notificationCountMax = "max-notifications"
    case ownerByteCountMax = "owner-max-bytes"
    case ownerNotificationCountMax = "owner-max-notifications"
    case freeDiskByteCountMin = "min-free-disk"

    /// Whether it is a limit of one owner. Others are limits of the store.
    public var isOfOwner: Bool {
        self == .ownerByteCountMax || self == .ownerNotificationCountMax
    }
}

/// A quota that a change would have passed.
public struct QuotaExcess: Sendable, Hashable, CustomStringConvertible {
    /// Which one.
    public var setting: QuotaSetting
    /// What it is set to.
    public var limit: Int
    /// What is used of it before the change. Of ``QuotaSetting/freeDiskByteCountMin``: what is free.
    public var used: Int
    /// By how much the change would have grown.
    public var growth: Int

    /// The setting, the limit, the use and the growth, in words for a person.
    public var description: String {
        switch setting {
        case .byteCountMax:
            "\(setting.rawValue) is \(limit) bytes: the store has \(used), and this needs \(growth) more"
        case .notificationCountMax:
            "\(setting.rawValue) is \(limit): the store has \(used) notifications"
        case .ownerByteCountMax:
            "\(setting.rawValue) is \(limit) bytes: the owner has \(used), and this needs \(growth) more"
        case .ownerNotificationCountMax:
            "\(setting.rawValue) is \(limit): the owner has \(used) notifications"
        case .freeDiskByteCountMin:
            "\(setting.rawValue) is \(limit) bytes: the file system has \(used) free"
        }
    }
}
