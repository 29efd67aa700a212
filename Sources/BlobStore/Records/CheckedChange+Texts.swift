package import Notifications

// Changes of texts that were checked where they came in. The rest of them is checked here.

/// A part of a notification, whose name and media type are checked.
package struct CheckedPart: Sendable {
    /// The most bytes it may have; nil: as many as the store takes.
    package var limit: PartLimit?
    package let name: PartName
    package let mediaType: MediaType
    let content: DraftPart.Content

    package init(_ name: PartName, _ mediaType: MediaType, _ content: DraftPart.Content) {
        self.name = name
        self.mediaType = mediaType
        self.content = content
    }

    fileprivate var part: DraftPart {
        var part = DraftPart(name: name.text, mediaType: mediaType.text, content: content)
        part.limit = limit
        return part
    }
}

/// What a patch says of texts.
package struct PatchTexts: Sendable {
    package var title = FieldPatch<Title>.keep
    package var message = FieldPatch<Message>.keep
    package var richType = FieldPatch<RichType>.keep
    package var device: DeviceName?

    /// Nothing changes.
    package init() {}

    func put(into patch: NotificationPatch) -> NotificationPatch {
        var patch = patch
        patch.title = title.text()
        patch.message = message.text()
        patch.richType = richType.text()
        patch.device = device?.text
        return patch
    }
}

extension FieldPatch {
    fileprivate func text<Rule>() -> FieldPatch<String> where Value == CheckedText<Rule> {
        switch self {
        case .keep: .keep
        case .clear: .clear
        case .set(let value): .set(value.text)
        }
    }
}

extension CheckedChange {
    /// A part of a notification, of a payload with its media type.
    package init(
        publishing payload: PreparedPayload, as part: PartName, of texts: NotificationTexts,
        expiry: Expiry, condition: Condition, limit: PartLimit?, asOf now: Timestamp
    ) throws(StoreError) {
        var publication = Publication(
            id: texts.id?.text, part: part.text, payload: payload, owner: texts.owner?.text,
            app: texts.app?.text, title: texts.title?.text, message: texts.message?.text,
            richType: texts.richType?.text, expiry: expiry)
        publication.condition = condition
        publication.limit = limit
        try publication.checkNumbers(asOf: now)
        self.init(unchecked: .publish(publication))
    }

    /// A whole notification. Its texts and its parts take the place of the draft's.
    package init(
        _ draft: NotificationDraft, _ texts: NotificationTexts, device: DeviceName?,
        parts: [CheckedPart] = [], asOf now: Timestamp
    ) throws(StoreError) {
        var draft = draft
        draft.id = texts.id?.text
        draft.owner = texts.owner?.text
        draft.details.app = texts.app?.text
        draft.details.title = texts.title?.text
        draft.message = texts.message?.text
        draft.richType = texts.richType?.text
        draft.device = device?.text
        draft.parts = parts.map(\.part)
        try draft.checkFields(asOf: now)
        self.init(unchecked: .publishNotification(draft))
    }

    /// The same whole notification with these parts.
    package func with(_ parts: [CheckedPart]) throws(StoreError) -> CheckedChange {
        guard case .publishNotification(var draft) = change else {
            preconditionFailure("the change is not a whole notification")
        }
        draft.parts = parts.map(\.part)
        try draft.checkPartList()
        return CheckedChange(unchecked: .publishNotification(draft))
    }

    /// A patch. Its texts take the place of the patch's.
    package init(
        _ patch: NotificationPatch, _ texts: PatchTexts, asOf now: Timestamp
    ) throws(StoreError) {
        try patch.checkFields(asOf: now)
        self.init(unchecked: .patch(texts.put(into: patch)))
    }

    /// A response, with the device that it comes from.
    package init(_ response: ActionResponse, device: DeviceName?) throws(StoreError) {
        var response = response
        response.device = nil
        try response.check()
        response.device = device?.text
        self.init(unchecked: .respond(response))
    }

    /// A category of this name and app.
    package init(
        _ category: Category, named name: CategoryName, app: AppName?, condition: Condition
    ) throws(StoreError) {
        try Rules.check(category.actions)
        var category = category
        category.name = name.text
        category.app = app?.text
        self.init(unchecked: .setCategory(category, condition: condition))
    }

    /// A removal of whatever id.
    package static func delete(id: String) -> CheckedChange {
        CheckedChange(unchecked: .delete(id: id))
    }

    /// A removal under a condition.
    package static func remove(
        id: String, device: DeviceName?, condition: Condition
    ) -> CheckedChange {
        CheckedChange(
            unchecked: .remove(Removal(id: id, device: device?.text, condition: condition)))
    }

    /// The removal of a category of whatever name.
    package static func removeCategory(
        name: String, app: String?, condition: Condition
    ) -> CheckedChange {
        CheckedChange(unchecked: .removeCategory(name: name, app: app, condition: condition))
    }
}

extension CheckedLongChange {
    /// The same patch for a group.
    package init(
        patching group: GroupName, of owner: OwnerID, app: AppName?, _ patch: NotificationPatch,
        _ texts: PatchTexts, asOf now: Timestamp
    ) throws(StoreError) {
        try patch.checkFields(asOf: now)
        self.init(
            unchecked: .patchGroup(
                owner: owner.text, group: group.text, app: app?.text, texts.put(into: patch)))
    }

    /// The removal of a group.
    package static func deleteGroup(
        owner: OwnerID, group: GroupName, app: AppName?, device: DeviceName?
    ) -> CheckedLongChange {
        CheckedLongChange(
            unchecked: .deleteGroup(
                owner: owner.text, group: group.text, app: app?.text, device: device?.text))
    }

    /// The end of an account.
    package static func deleteOwner(_ owner: OwnerID) -> CheckedLongChange {
        CheckedLongChange(unchecked: .deleteOwner(owner.text))
    }
}
