/// Default actions for the notifications that name it, and how devices treat them.
public struct NotificationCategory: Sendable, Hashable {
    /// How devices treat the notifications of a category (iOS's `UNNotificationCategoryOptions`).
    public enum Option: String, Sendable, Hashable, CaseIterable {
        /// The app hears when its user dismisses one.
        case customDismissAction = "custom_dismiss_action"
        /// They may be shown in CarPlay.
        case allowInCarPlay = "allow_in_carplay"
        /// The title is shown also where previews are hidden.
        case hiddenPreviewsShowTitle = "hidden_previews_show_title"
        /// The subtitle is shown also where previews are hidden.
        case hiddenPreviewsShowSubtitle = "hidden_previews_show_subtitle"
        /// They may be read aloud.
        case allowAnnouncement = "allow_announcement"
    }

    /// Its name.
    public let name: String
    /// The app whose notifications it is for; nil: all.
    public let app: String?
    /// The change that made it what it is, for conditions; nil where the daemon does not say.
    public let revision: UInt64?
    /// At most 10.
    public let actions: [NotificationRecord.Action]
    /// How devices treat its notifications. What this client does not know is left out.
    public let options: [Option]

    init(_ reader: DocumentReader) throws(ClientError) {
        name = try reader.text("name")
        app = try reader.optionalText("app")
        revision = try reader.optionalInteger("revision")
        actions = try reader.list("actions", NotificationRecord.Action.init)
        options = try reader.optionalTexts("options").compactMap { Option(rawValue: $0) }
    }
}

/// What setting a category has done. It is on the daemon's disk.
public struct CategoryReceipt: Sendable, Hashable {
    /// The category as it is now.
    public let category: NotificationCategory
    /// Whether there was none of that name.
    public let isCreated: Bool

    init(_ answer: CallAnswer) throws(ClientError) {
        category = try NotificationCategory(DocumentReader(answer.body))
        isCreated = answer.status == 201
    }
}

/// A page of the categories, by name and app; see ``DaemonCall/categories(after:)``.
public struct CategoryList: Sendable, Hashable {
    /// The categories of the page.
    public let categories: [NotificationCategory]
    /// The cursor to continue after, or nil when this is the last page.
    public let next: String?

    init(_ reader: DocumentReader) throws(ClientError) {
        categories = try reader.list("categories", NotificationCategory.init)
        next = try reader.optionalText("next")
    }
}
