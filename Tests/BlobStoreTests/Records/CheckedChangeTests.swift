import Notifications
import TestSupport
import Testing

@testable import BlobStore

/// Changes are checked once, before the transaction; what is applied is checked by its type.
@Suite struct CheckedChangeTests {
    /// The changes that say `text` where a kind of text is said.
    private static func changes(
        _ kind: TextKind, _ text: String, _ payload: PreparedPayload
    ) -> (short: [Change], long: [LongChange]) {
        let expiry = Expiry.after(seconds: 60)
        var publication = Publication(id: "a", payload: payload, expiry: expiry)
        var draft = NotificationDraft(id: "a", expiry: expiry)
        var patch = NotificationPatch(id: "a")
        var response = ActionResponse(id: "a", action: "default")
        var part = DraftPart(name: "p", mediaType: "image/png", content: .payload(payload))
        func actions(_ identifier: String, _ title: String) -> [NotificationAction] {
            [NotificationAction(identifier: identifier, title: title)]
        }
        func group(owner: String = "o", group: String = "g", app: String? = nil) -> [LongChange] {
            [
                .patchGroup(owner: owner, group: group, app: app, NotificationPatch(id: "")),
                .deleteGroup(owner: owner, group: group, app: app),
            ]
        }
        switch kind {
        case .id:
            publication.id = text
            draft.id = text
            return ([.publish(publication), .publishNotification(draft)], [])
        case .part:
            publication.part = text
            part.name = text
            draft.parts = [part]
            return ([.publish(publication), .publishNotification(draft)], [])
        case .mediaType:
            publication.mediaType = text
            part.mediaType = text
            draft.parts = [part]
            return ([.publish(publication), .publishNotification(draft)], [])
        case .owner:
            publication.owner = text
            draft.owner = text
            return (
                [.publish(publication), .publishNotification(draft)],
                group(owner: text) + [.deleteOwner(text)]
            )
        case .app:
            publication.app = text
            draft.details.app = text
            let category = Category(name: "c", actions: [], app: text)
            return (
                [.publish(publication), .publishNotification(draft), .setCategory(category)],
                group(app: text)
            )
        case .title:
            publication.title = text
            draft.details.title = text
            patch.title = .set(text)
            return (
                [.publish(publication), .publishNotification(draft), .patch(patch)],
                [.patchGroup(owner: "o", group: "g", patch)]
            )
        case .message:
            publication.message = text
            draft.message = text
            patch.message = .set(text)
            return ([.publish(publication), .publishNotification(draft), .patch(patch)], [])
        case .richType:
            publication.richType = text
            draft.richType = text
            patch.richType = .set(text)
            return ([.publish(publication), .publishNotification(draft), .patch(patch)], [])
        case .category:
            draft.details.category = text
            patch.category = .set(text)
            let category = Category(name: text, actions: [])
            return ([.publishNotification(draft), .patch(patch), .setCategory(category)], [])
        case .group:
            draft.details.group = text
            patch.group = .set(text)
            return ([.publishNotification(draft), .patch(patch)], group(group: text))
        case .device:
            draft.device = text
            patch.device = text
            response.device = text
            let removal = Removal(id: "a", device: text)
            return (
                [.publishNotification(draft), .patch(patch), .respond(response), .remove(removal)],
                [.deleteGroup(owner: "o", group: "g", device: text)]
            )
        case .actionIdentifier, .actionTitle:
            let actions =
                kind == .actionTitle ? actions("a", text) : actions(text, "t")
            draft.details.actions = actions
            patch.actions = .set(actions)
            let category = Category(name: "c", actions: actions)
            return ([.publishNotification(draft), .patch(patch), .setCategory(category)], [])
        case .responseAction:
            response.action = text
            return ([.respond(response)], [])
        case .responseKey:
            response.key = text
            return ([.respond(response)], [])
        }
    }

    private static let kinds: [TextKind] = [
        .id, .part, .app, .category, .device, .actionIdentifier, .responseAction, .responseKey,
        .owner, .group, .richType, .title, .actionTitle, .message, .mediaType,
    ]

    /// Texts that a kind refuses.
    private static func bad(_ kind: TextKind) -> [String] {
        var texts = ["x\u{7}", String(repeating: "x", count: kind.byteCountMax + 1)]
        switch kind {
        case .title, .richType, .message, .actionTitle: break
        default: texts.append("")
        }
        switch kind {
        case .id, .part, .app, .category, .device, .actionIdentifier, .responseAction,
            .responseKey:
            texts.append("a/b")
        default: break
        }
        return texts
    }

    @Test("No change with a bad text can be made", arguments: kinds)
    func texts(kind: TextKind) throws {
        let folder = TemporaryFolder()
        let payload = try folder.open().prepare([1])
        let good = kind == .mediaType ? "text/plain" : "good"
        for text in Self.bad(kind) + [good] {
            let (changes, longChanges) = Self.changes(kind, text, payload)
            let isGood = text == good
            for change in changes {
                #expect(
                    ((try? CheckedChange(change, asOf: noon)) != nil) == isGood,
                    "\(kind) \(text): \(change)")
            }
            for change in longChanges {
                #expect(
                    ((try? CheckedLongChange(change, asOf: noon)) != nil) == isGood,
                    "\(kind) \(text): \(change)")
            }
        }
    }

    @Test("A refused change has its outcome in its place, and the others are applied")
    func refused() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        func publication(_ id: String) throws -> Change {
            .publish(try store.publication(id, [1]))
        }
        let outcomes = try store.apply(
            [
                publication("/"), publication("a"), publication("b/"), publication("c/"),
                publication("b"), publication(""),
            ], asOf: noon)
        #expect(outcomes.map(\.record?.id) == [nil, "a", nil, nil, "b", nil])
        let fields = outcomes.map { $0.error?.field }
        #expect(fields == [.id, nil, .id, .id, nil, .id])
    }

    @Test("An end that passes between the check and the commit is refused")
    func late() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        try store.put("there", [0])
        let payload = try store.prepare([1])
        let end = noon.adding(seconds: 10)
        var draft = NotificationDraft(id: "draft", expiry: .at(end))
        draft.message = "m"
        var patch = NotificationPatch(id: "there")
        patch.expiresAt = .set(end)
        let large = try store.prepare([UInt8](repeating: 7, count: 2 << 20))
        let changes: [Change] = [
            .publish(Publication(id: "part", payload: payload, expiry: .at(end))),
            .publish(Publication(id: "large", payload: large, expiry: .at(end))),
            .publishNotification(draft), .patch(patch), .hold(BlobHold(payload, until: end)),
            .hold(BlobHold(large, until: end)),
        ]
        let checked = try changes.map { try CheckedChange($0, asOf: noon) }
        let before = try store.counters()
        let late = try store.apply(checked, asOf: end, isCommitting: false)
        let fields = late.map { $0.error?.field }
        #expect(fields == [InvalidInput.Field?](repeating: .expiry, count: changes.count))
        let after = try store.counters()
        #expect(after == before)
        let inTime = try store.apply(checked, asOf: end.adding(seconds: -1), isCommitting: false)
        #expect(inTime.allSatisfy { $0.error == nil })
    }

    @Test("Parts that come later are checked when they come")
    func parts() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        let payload = try store.prepare([1])
        let draft = NotificationDraft(id: "a", expiry: .after(seconds: 60))
        let checked = try CheckedChange(.publishNotification(draft), asOf: noon)
        let part = DraftPart(name: "p", mediaType: "image/png", content: .payload(payload))
        var bad = part
        bad.name = "a/b"
        #expect(throws: StoreError.self) { try checked.with([bad]) }
        #expect(throws: StoreError.self) { try checked.with([part, part]) }
        let record = try store.apply(
            [try checked.with([part])], asOf: noon, isCommitting: false)[0].record
        #expect(record?.parts.map(\.name) == ["p"])
    }
}
