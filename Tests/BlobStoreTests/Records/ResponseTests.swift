import TestSupport
import Testing

@testable import BlobStore

@Suite struct ResponseTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static let yes = NotificationAction(identifier: "yes", title: "Yes")
    private static let no = NotificationAction(identifier: "no", title: "No")

    private func respond(
        _ store: BlobStore, _ id: String, _ action: String, key: String? = nil,
        _ change: (inout ActionResponse) -> Void = { _ in }
    ) throws -> Outcome {
        var response = ActionResponse(id: id, action: action, key: key)
        change(&response)
        return try store.apply(.respond(response), asOf: noon.adding(seconds: 3))
    }

    @Test(
        "What an action does to state and read",
        arguments: [
            ("default", false, ActionState.activated, true),
            ("yes", false, .activated, true),
            ("dismiss", false, .dismissed, false),
            ("yes", true, .snoozed, false),
            ("default", true, .snoozed, false),
        ])
    func effects(
        action: String, stays: Bool, state: ActionState, isRead: Bool
    ) throws {
        let first = try store.publish("a", owner: "anna") { draft in
            draft.details.actions = [Self.yes]
            draft.details.actionState = .snoozed
        }
        let outcome = try respond(store, "a", action) {
            $0.device = "phone"
            $0.staysOnScreen = stays
        }
        let record = try #require(outcome.record)
        #expect(record.details.actionState == state)
        #expect(record.details.isRead == isRead)
        #expect(record.details.device == "phone")
        #expect(
            record.details.responses == [
                RecordedResponse(
                    action: action, key: nil, device: "phone", at: noon.adding(seconds: 3),
                    revision: first.revision + 1, staysOnScreen: stays)
            ])
        #expect(record.revision == first.revision + 1)
        #expect(try store.record(for: "a", asOf: noon) == record)
        #expect(try store.ownerIndex("anna").entries[record.revision]?.indexes == .feed)
    }

    @Test("The actions are its own, or where it has none, those of its category")
    func offered() throws {
        _ = try store.apply(.setCategory(Category(name: "ask", actions: [Self.yes])))
        try store.publish("category", owner: "anna") { $0.details.category = "ask" }
        try store.publish("own", owner: "anna") {
            $0.details.category = "ask"
            $0.details.actions = [Self.no]
        }
        try store.publish("none", owner: "anna") {
            $0.details.category = "ask"
            $0.details.actions = []
        }
        try store.publish("bare", owner: "anna")
        for (id, action, isTaken) in [
            ("category", "yes", true), ("category", "no", false), ("own", "no", true),
            ("own", "yes", false), ("none", "yes", false), ("bare", "yes", false),
            ("bare", "default", true), ("none", "dismiss", true),
        ] {
            let outcome = try respond(store, id, action)
            #expect(outcome.isDone == isTaken, "\(id) \(action)")
            if !isTaken, case .unknownAction(action)? = outcome.error { continue }
            #expect(isTaken, "\(id) \(action): \(outcome)")
        }
        // A category that is gone offers nothing any more.
        _ = try store.apply(.removeCategory(name: "ask"))
        #expect(try respond(store, "category", "yes").error != nil)
        #expect(try store.record(for: "category", asOf: noon)?.details.category == "ask")
    }

    @Test("A key makes a response the same when it comes again, and no other")
    func keys() throws {
        try store.publish("a", owner: "anna") { $0.details.actions = [Self.yes] }
        let first = try respond(store, "a", "yes", key: "k")
        // Also when the action is offered no more.
        _ = try store.patch("a") { $0.actions = .set([]) }
        let before = try store.counters()
        let again = try respond(store, "a", "yes", key: "k")
        #expect(again.isUnchanged)
        #expect(again.record?.details.responses == first.record?.details.responses)
        #expect(try respond(store, "a", "default", key: "k").error == .responseConflict(key: "k"))
        #expect(try store.counters() == before)
        // Without a key each is a new one.
        for count in 2...3 {
            #expect(try respond(store, "a", "default").record?.details.responses.count == count)
        }
    }

    @Test("What a content extension answers is recorded, told apart, and decides whether it stays")
    func contentExtension() throws {
        // Its three answers came in as one: dismissed, or not.
        let folder = TemporaryFolder()
        let store = try folder.open()
        try store.publish("a", owner: "anna") { $0.details.actions = [Self.yes] }
        for answer in ContentExtensionAnswer.allCases {
            let outcome = try respond(store, "a", "yes", key: answer.name) {
                $0.contentExtension = answer
                $0.staysOnScreen = answer == .doNotDismiss
            }
            #expect(outcome.record?.details.responses.last?.contentExtension == answer)
        }
        let record = try #require(try store.record(for: "a", asOf: noon))
        #expect(
            record.details.responses.map(\.contentExtension)
                == [.dismiss, .dismissAndForward, .doNotDismiss])
        #expect(record.details.responses.map(\.staysOnScreen) == [false, false, true])
        #expect(try store.changes(of: "anna", from: .beginning).changes.last?.record == record)
        // The same key with another answer is another response.
        for (answer, stays) in [(ContentExtensionAnswer?.none, false), (.dismiss, false)] {
            let other = try respond(store, "a", "yes", key: "dismiss_and_forward") {
                $0.contentExtension = answer
                $0.staysOnScreen = stays
            }
            #expect(other.error == .responseConflict(key: "dismiss_and_forward"))
        }
        // What contradicts itself is refused.
        for (answer, stays) in [
            (ContentExtensionAnswer.dismiss, true), (.dismissAndForward, true),
            (.doNotDismiss, false),
        ] {
            let outcome = try respond(store, "a", "yes") {
                $0.contentExtension = answer
                $0.staysOnScreen = stays
            }
            #expect(outcome.field == .response, "\(answer)")
        }
        let dismissed = try respond(store, "a", "dismiss") {
            $0.contentExtension = .doNotDismiss
            $0.staysOnScreen = true
        }
        #expect(dismissed.field == .response)
        #expect(try store.verify().problems == [])
    }

    @Test("The latest thirty-two are kept")
    func count() throws {
        try store.publish("a", owner: "anna")
        for number in 0..<34 { _ = try respond(store, "a", "default", key: "k\(number)") }
        let record = try store.record(for: "a", asOf: noon)
        #expect(record?.details.responses.map { $0.key } == (2..<34).map { "k\($0)" })
        // What was forgotten counts as new.
        #expect(try !respond(store, "a", "default", key: "k0").isUnchanged)
        #expect(try respond(store, "a", "default", key: "k33").isUnchanged)
        #expect(try store.verify().problems == [])
    }

    @Test("What breaks a rule is refused, and changes nothing")
    func refused() throws {
        try store.publish("a", owner: "anna", seconds: 10)
        let before = try store.counters()
        let stays = try respond(store, "a", "dismiss") { $0.staysOnScreen = true }
        #expect(stays.field == .response)
        #expect(try respond(store, "b", "default").isNotFound)
        let late = try store.apply(
            .respond(ActionResponse(id: "a", action: "default")), asOf: noon.adding(seconds: 10))
        #expect(late.isNotFound)
        #expect(try store.counters() == before)
    }
}
