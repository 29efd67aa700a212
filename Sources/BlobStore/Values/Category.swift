internal import Bytes
internal import Notifications

/// Default actions for the notifications that name it, and how devices treat them: those of its app,
/// or where it has none, those of all apps. An app's own category goes before one of all apps with
/// the same name.
public struct Category: Sendable, Hashable {
    /// 1…64 bytes, as ids.
    public var name: String
    /// The app whose notifications it is for, 1…64 bytes; nil: all.
    public var app: String?
    /// At most 10.
    public var actions: [NotificationAction]
    /// How devices treat its notifications.
    public var options: CategoryOptions
    /// The store's change that made it what it is. The store sets it; 0: not stored yet, or stored
    /// before categories had revisions.
    public internal(set) var revision: UInt64 = 0

    /// A category.
    public init(
        name: String, actions: [NotificationAction], options: CategoryOptions = [],
        app: String? = nil
    ) {
        self.name = name
        self.app = app
        self.actions = actions
        self.options = options
    }

    func check() throws(StoreError) {
        try TextKind.category.check(name)
        try TextKind.app.check(app)
        try Rules.check(actions)
    }

    /// Whether both say the same, whatever their revisions.
    func saysSame(as other: Category) -> Bool {
        actions == other.actions && options == other.options && name.isSame(as: other.name)
            && app.isSame(as: other.app)
    }
}

/// How devices treat the notifications of a category: iOS's `UNNotificationCategoryOptions`.
public struct CategoryOptions: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: UInt16

    /// Options of these bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The app hears when its user dismisses one.
    public static let customDismissAction = CategoryOptions(rawValue: 1)
    /// They may be shown in CarPlay.
    public static let allowInCarPlay = CategoryOptions(rawValue: 2)
    /// The title is shown also where previews are hidden.
    public static let hiddenPreviewsShowTitle = CategoryOptions(rawValue: 4)
    /// The subtitle is shown also where previews are hidden.
    public static let hiddenPreviewsShowSubtitle = CategoryOptions(rawValue: 8)
    /// They may be read aloud.
    public static let allowAnnouncement = CategoryOptions(rawValue: 16)

    /// Every one there is, with its name in documents.
    public static let known: [(name: String, option: CategoryOptions)] = [
        ("custom_dismiss_action", .customDismissAction),
        ("allow_in_carplay", .allowInCarPlay),
        ("hidden_previews_show_title", .hiddenPreviewsShowTitle),
        ("hidden_previews_show_subtitle", .hiddenPreviewsShowSubtitle),
        ("allow_announcement", .allowAnnouncement),
    ]

    static let all = known.reduce(into: CategoryOptions()) { $0.formUnion($1.option) }
}
