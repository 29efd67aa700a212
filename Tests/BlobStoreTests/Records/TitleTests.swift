import BlobJSON
import TestSupport
import Testing

@testable import BlobStore

/// The title of a notification, and what one must have of title, message, data and parts.
@Suite struct TitleTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    @Test("A title is kept beside the message, patched and cleared")
    func life() throws {
        let record = try store.publish("a", owner: "anna") { draft in
            draft.details.title = "Ann"
            draft.message = "Dinner?"
        }
        #expect(record.title == "Ann")
        let patched = try store.patch("a") { $0.title = .set("Anna") }
        #expect(patched.record?.title == "Anna")
        #expect(patched.record?.message == "Dinner?")
        let same = try store.patch("a") { $0.title = .set("Anna") }
        #expect(same.isUnchanged)
        let cleared = try store.patch("a") { $0.title = .clear }
        #expect(cleared.record?.title == nil)
    }

    /// A picture that came later without a title took the title away.
    @Test("A payload by itself sets title and app, and keeps those that it does not say")
    func payloads() throws {
        var publication = try store.publication("a", [1], owner: "anna", message: "Look")
        publication.title = "Ann"
        publication.app = "mail"
        let first = try store.publish(publication, asOf: noon)
        #expect(first.title == "Ann")
        #expect(first.app == "mail")
        for part in ["payload", "icon"] {
            let record = try store.publish(
                store.publication("a", [2], part: part, message: "Look"), asOf: noon)
            #expect(record.title == "Ann", "\(part)")
            #expect(record.app == "mail", "\(part)")
            #expect(record.sequence == first.sequence, "\(part)")
        }
        var other = try store.publication("a", [3], part: "icon")
        other.title = "Ben"
        #expect(try store.publish(other, asOf: noon).title == "Ben")
        // What has expired gives nothing to what takes its place.
        let later = noon.adding(seconds: 3_600)
        let anew = try store.publish(
            store.publication("a", [4], expiry: .at(later.adding(seconds: 60))), asOf: later)
        #expect(anew.title == nil)
        #expect(anew.app == nil)
        #expect(try store.verify().problems == [])
    }

    @Test("Titles and apps keep to their rules")
    func rules() throws {
        let good = String(repeating: "t", count: StoreLimits.titleByteCountMax)
        try store.publish("a", owner: nil) { $0.details.title = good }
        for title in [good + "t", "a\nb", "a\u{7F}", "\u{85}", "\0"] {
            var draft = NotificationDraft(id: "b", expiry: .at(noon.adding(seconds: 60)))
            draft.details.title = title
            #expect(try store.apply(.publishNotification(draft)).field == .title)
            let patched = try store.patch("a") { $0.title = .set(title) }
            #expect(patched.field == .title)
            var publication = try store.publication("b", [1])
            publication.title = title
            #expect(try store.apply(.publish(publication)).field == .title)
        }
        for app in ["", "a/b", "\n", String(repeating: "a", count: 65)] {
            var publication = try store.publication("b", [1])
            publication.app = app
            #expect(try store.apply(.publish(publication)).field == .app)
            var draft = NotificationDraft(id: "b", expiry: .at(noon.adding(seconds: 60)))
            draft.message = "m"
            draft.details.app = app
            #expect(try store.apply(.publishNotification(draft)).field == .app)
        }
        #expect(try store.record(for: "b", asOf: noon) == nil)
    }

    /// `{}` was a notification: a place in the history with nothing to show, and an empty alert.
    @Test("One with no title, message, data and part is refused, whole or as what a patch leaves")
    func empty() throws {
        var draft = NotificationDraft(id: "a", expiry: .at(noon.adding(seconds: 60)))
        draft.owner = "anna"
        draft.richType = "img"
        draft.details.group = "g"
        draft.details.actions = []
        for (title, message) in [(nil, nil), ("", nil), (nil, ""), ("", "")] as [(String?, String?)]
        {
            draft.details.title = title
            draft.message = message
            let outcome = try store.apply(.publishNotification(draft))
            guard case .emptyNotification = outcome.error else { throw NothingThrown() }
        }
        let data = JSONFragment(checked: Array("{}".utf8))
        let payload = try store.prepare([])
        let fillings: [(inout NotificationDraft) -> Void] = [
            { $0.details.title = "t" }, { $0.message = "m" }, { $0.details.data = data },
            {
                $0.parts = [
                    DraftPart(name: "p", mediaType: "image/png", content: .payload(payload))
                ]
            },
        ]
        for (index, filling) in fillings.enumerated() {
            draft.id = "n\(index)"
            draft.message = nil
            draft.details.title = nil
            draft.details.data = nil
            draft.parts = []
            filling(&draft)
            #expect(try store.apply(.publishNotification(draft)).isDone, "\(index)")
        }
        let before = try store.counters()
        let emptied: [(String, (inout NotificationPatch) -> Void)] = [
            ("n0", { $0.title = .clear }), ("n0", { $0.title = .set("") }),
            ("n1", { $0.message = .clear }), ("n2", { $0.data = .clear }),
            ("n2", { $0.data = .set(.null) }),
        ]
        for (id, change) in emptied {
            let outcome = try store.patch(id, change)
            guard case .emptyNotification = outcome.error else { throw NothingThrown() }
        }
        #expect(try store.counters() == before)
        // One thing for another is no emptying; a part is enough.
        let swapped = try store.patch("n0") {
            $0.title = .clear
            $0.message = .set("m")
        }
        #expect(swapped.isDone)
        let read = try store.patch("n3") { $0.isRead = .set(true) }
        #expect(read.isDone)
        // A group's patch ends where it would empty a member.
        let failure = try failure {
            var patch = NotificationPatch(id: "")
            patch.message = .clear
            try store.patchGroup("g", of: "anna", patch, asOf: noon)
        }
        guard case .emptyNotification = failure else { throw NothingThrown() }
        #expect(try store.verify().problems == [])
    }
}
