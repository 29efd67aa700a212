import Notifications
import TestSupport
import Testing

@testable import BlobStore

/// Changes are checked once, before the transaction; what is applied is checked by its type.
@Suite struct CheckedChangeTests {
    private let folder = TemporaryFolder()

    /// The changes that say `text` where a kind of text is said.
    private static func changes(
        _ kind: TextKind, _ text: String, _ payload: PreparedPayload
    ) -> (short: [Change], long: [LongChange]) {
        func publish(_ set: (inout Publication) -> Void) -> Change {
            var publication = Publication(id: "a", payload: payload, expiry: .after(seconds: 60))
            set(&publication)
            return .publish(publication)
        }
        func draft(_ set: (inout NotificationDraft) -> Void) -> Change {
            var draft = NotificationDraft(id: "a", expiry: .after(seconds: 60))
            draft.parts = [
                DraftPart(name: "p", mediaType: "image/png", content: .payload(payload))
            ]
            set(&draft)
            return .publishNotification(draft)
        }
        func patch(_ set: (inout NotificationPatch) -> Void) -> ([Change], [LongChange]) {
            var patch = NotificationPatch(id: "a")
            set(&patch)
            return ([.patch(patch)], [.patchGroup(owner: "o", group: "g", patch)])
        }
        func group(owner: String = "o", group: String = "g", app: String? = nil) -> [LongChange] {
            let patch = NotificationPatch(id: "")
            return [
                .patchGroup(owner: owner, group: group, app: app, patch),
                .deleteGroup(owner: owner, group: group, app: app),
            ]
        }
        switch kind {
        case .id: return ([publish { $0.id = text }, draft { $0.id = text }], [])
        case .part: return ([publish { $0.part = text }, draft { $0.parts[0].name = text }], [])
        case .mediaType:
            return ([publish { $0.mediaType = text }, draft { $0.parts[0].mediaType = text }], [])
        case .actionIdentifier, .actionTitle:
            let isTitle = kind == .actionTitle
            let actions = [
                NotificationAction(identifier: isTitle ? "a" : text, title: isTitle ? text : "t")
            ]
            let (short, long) = patch { $0.actions = .set(actions) }
            let category = Category(name: "c", actions: actions)
            return (short + [draft { $0.details.actions = actions }, .setCategory(category)], long)
        case .responseAction: return ([.respond(ActionResponse(id: "a", action: text))], [])
        case .responseKey:
            return ([.respond(ActionResponse(id: "a", action: "default", key: text))], [])
        case .platform:
            let (short, long) = patch { $0.platforms = .set([text]) }
            return (short + [draft { $0.details.platforms = [text] }], long)
        // No change says it.
        case .pushToken: return ([], [])
        default: break
        }
        // The others are those of a record.
        guard let field = TextField.allCases.first(where: { $0.kind == kind }) else {
            preconditionFailure("\(kind) is said nowhere")
        }
        var (short, long) = ([draft { $0[field] = text }], [LongChange]())
        if TextField.patched.contains(field) {
            let (one, many) = patch { $0[field] = .set(text) }
            short += one
            long += many
        }
        switch field {
        case .owner:
            short.append(publish { $0.owner = text })
            long += group(owner: text) + [.deleteOwner(text)]
        case .app:
            let category = Category(name: "c", actions: [], app: text)
            short += [publish { $0.app = text }, .setCategory(category)]
            long += group(app: text)
        case .title: short.append(publish { $0.title = text })
        case .message: short.append(publish { $0.message = text })
        case .richType: short.append(publish { $0.richType = text })
        case .category: short.append(.setCategory(Category(name: text, actions: [])))
        case .group: long += group(group: text)
        case .targetHost: break
        case .device:
            let (one, many) = patch { $0.device = text }
            var response = ActionResponse(id: "a", action: "default")
            response.device = text
            short += one + [.respond(response), .remove(Removal(id: "a", device: text))]
            long += many + [.deleteGroup(owner: "o", group: "g", device: text)]
        }
        return (short, long)
    }

    private static let kinds = TextKind.allCases.filter { $0 != .pushToken }

    /// Texts that a kind refuses.
    private static func bad(_ kind: TextKind) -> [String] {
        let texts = ["x\u{7}", String(repeating: "x", count: kind.byteCountMax + 1)]
        return switch kind {
        case .title, .richType, .message, .actionTitle: texts
        case .owner, .group, .mediaType, .targetHost: texts + [""]
        default: texts + ["", "a/b"]
        }
    }

    @Test("No change with a bad text can be made, and its field is named", arguments: kinds)
    func texts(kind: TextKind) throws {
        let payload = try folder.open().prepare([1])
        let prefix = kind == .mediaType ? "x/" : ""
        let longest = prefix + String(repeating: "x", count: kind.byteCountMax - prefix.count)
        for text in Self.bad(kind) + [prefix + "good", longest] {
            let (changes, longChanges) = Self.changes(kind, text, payload)
            let isGood = text.hasSuffix("good") || text == longest
            let expected = isGood ? nil : InvalidInput.Field(rawValue: kind.field)
            func refusal(_ make: () throws(StoreError) -> Void) -> InvalidInput.Field? {
                do throws(StoreError) { try make() } catch { return error.field }
                return nil
            }
            for change in changes {
                let field = refusal { () throws(StoreError) in
                    _ = try CheckedChange(change, asOf: noon)
                }
                #expect(field == expected, "\(text): \(change)")
            }
            for change in longChanges {
                let field = refusal { () throws(StoreError) in
                    _ = try CheckedLongChange(change, asOf: noon)
                }
                #expect(field == expected, "\(text): \(change)")
            }
        }
    }

    @Test("An end that passes between the check and the commit is refused")
    func late() throws {
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
        let late = try store.apply(checked: checked, asOf: end)
        let fields = late.map { $0.error?.field }
        #expect(fields == [InvalidInput.Field?](repeating: .expiry, count: changes.count))
        let after = try store.counters()
        #expect(after == before)
        let inTime = try store.apply(checked: checked, asOf: end.adding(seconds: -1))
        #expect(inTime.allSatisfy { $0.error == nil })
    }

    @Test("Parts that come later are checked when they come")
    func parts() throws {
        let store = try folder.open()
        let payload = try store.prepare([1])
        let draft = NotificationDraft(id: "a", expiry: .after(seconds: 60))
        let checked = try CheckedChange(.publishNotification(draft), asOf: noon)
        var part = DraftPart(
            name: "payload", mediaType: "application/octet-stream", content: .payload(payload))
        #expect(throws: StoreError.self) { try checked.with([part, part]) }
        part.name = "a/b"
        #expect(throws: StoreError.self) { try checked.with([part]) }
        part.name = "payload"
        let record = try store.apply(
            checked: [try checked.with([part])], asOf: noon)[0].record
        #expect(record?.parts.map(\.name) == ["payload"])
    }
}
