import TestSupport
import Testing

@testable import BlobStore

@Suite struct CategoryTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static let yes = NotificationAction(identifier: "yes", title: "Yes")

    /// Two apps of one user called a category `ask`, and the second one's buttons took the place of
    /// the first one's.
    @Test("An app's category goes before the one of all apps, and is no other app's")
    func ofApps() throws {
        let no = NotificationAction(identifier: "no", title: "No")
        let ofAll = Category(name: "ask", actions: [Self.yes])
        let ofMail = Category(name: "ask", actions: [no], app: "mail")
        for category in [ofMail, ofAll] {
            let outcome = try store.apply(.setCategory(category))
            guard case .categorySet(let set, true) = outcome, set.saysSame(as: category) else {
                throw NothingThrown()
            }
        }
        let found = try [nil, "mail", "chat"].map { try store.category("ask", app: $0) }
        #expect(found.map { $0?.app } == [String?.none, "mail", nil])
        #expect(found.map { $0?.actions } == [[Self.yes], [no], nil])
        #expect(try store.categories().map(\.app) == [nil, "mail"])
        for (app, action) in [("mail", "no"), ("chat", "yes"), (nil, "yes")] {
            try store.publish("n", owner: "anna") { draft in
                draft.details.app = app
                draft.details.category = "ask"
            }
            for tried in ["yes", "no"] {
                let response = ActionResponse(id: "n", action: tried)
                let outcome = try store.apply(.respond(response))
                #expect(outcome.isDone == (tried == action), "\(app ?? "-") \(tried)")
            }
        }
        // What only mail has, nobody else can name.
        _ = try store.apply(.removeCategory(name: "ask"))
        for (app, isKnown) in [("mail", true), ("chat", false), (nil, false)] {
            let change = Change.notification("n") {
                $0.details.app = app
                $0.details.category = "ask"
            }
            #expect(try store.apply(change).isDone == isKnown, "\(app ?? "-")")
        }
        let patched = try store.patch("n") { $0.category = .set("ask") }
        #expect(patched.isDone)
        #expect(try store.verify().problems == [])
        #expect(try store.apply(.removeCategory(name: "ask", app: "mail")).isDone)
        #expect(try store.apply(.removeCategory(name: "ask", app: "mail")).isNotFound)
        #expect(try store.counters().categories == 0)
    }

    @Test("Pages go on within the categories of one name")
    func pagesOfApps() throws {
        let all =
            [Category(name: "a", actions: [])]
            + ["chat", "mail", "z"].map { Category(name: "a", actions: [Self.yes], app: $0) }
            + [Category(name: "b", actions: [], app: "mail"), Category(name: "c", actions: [])]
        let outcomes = try store.apply(all.shuffled().map { .setCategory($0) }, asOf: noon)
        #expect(outcomes.allSatisfy { $0.isDone })
        var found: [Category] = []
        var places: [String] = []
        var next = ""
        repeat {
            let place = Array(next.utf8)
            let page = try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.categories(after: place.span.bytes, byteCountMax: 1)
            }
            found += page.categories
            next = page.next ?? ""
            if !next.isEmpty { places.append(next) }
        } while !next.isEmpty && found.count < 20
        #expect(found.map(\.name) == all.map(\.name))
        #expect(found.map(\.app) == all.map(\.app))
        #expect(places == ["a", "a/chat", "a/mail", "a/z", "b/mail"])
        for place in ["c/", "c/\(String(repeating: "x", count: 65))", "d"] {
            let bytes = Array(place.utf8)
            let page = try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.categories(after: bytes.span.bytes)
            }
            #expect(page.categories.isEmpty, "\(place)")
        }
    }

    @Test("Conditions are judged by the revision that is there")
    func conditions() throws {
        // There were none: of two who edited what they had read, the first lost.
        let folder = TemporaryFolder()
        let store = try folder.open()
        func set(_ actions: [NotificationAction], _ condition: Condition) throws -> Outcome {
            try store.apply(
                .setCategory(Category(name: "ask", actions: actions), condition: condition))
        }
        func isRefused(_ outcome: Outcome, at revision: UInt64?) -> Bool {
            outcome.error == .categoryPreconditionFailed(revision: revision)
        }
        #expect(isRefused(try set([], .exists), at: nil))
        #expect(isRefused(try set([], .revisions([1])), at: nil))
        #expect(try set([], .absent).isDone)
        #expect(isRefused(try set([Self.yes], .absent), at: 1))
        #expect(isRefused(try set([Self.yes], .revisions([2])), at: 1))
        #expect(try set([Self.yes], .revisions([7, 1])).isDone)
        #expect(isRefused(try set([], .revisions([1])), at: 2))
        // Also where nothing would change.
        #expect(isRefused(try set([Self.yes], .revisions([1])), at: 2))
        func remove(_ condition: Condition) throws -> Outcome {
            try store.apply(.removeCategory(name: "ask", condition: condition))
        }
        #expect(isRefused(try remove(.revisions([1])), at: 2))
        #expect(isRefused(try remove(.absent), at: 2))
        #expect(try remove(.revisions([2])).isDone)
        #expect(isRefused(try remove(.exists), at: nil))
        #expect(try remove(.absent).isNotFound)
        #expect(try store.category("ask") == nil)
    }

    @Test("One that breaks a rule is refused; so is one too many, and not a change of one")
    func refused() throws {
        let twice = try store.apply(
            .setCategory(Category(name: "a", actions: [Self.yes, Self.yes])))
        #expect(twice.field == .actions)
        let outcomes = try store.apply(
            (0..<StoreLimits.categoryCountMax).map {
                .setCategory(Category(name: "c\($0)", actions: []))
            }, asOf: noon)
        #expect(outcomes.allSatisfy { $0.isDone })
        let before = try store.counters()
        #expect(before.categories == 1_000)
        let tooMany = try store.apply(.setCategory(Category(name: "more", actions: [])))
        #expect(tooMany.field == .category)
        #expect(tooMany.error?.description.contains("1000") == true)
        #expect(try store.apply(.setCategory(Category(name: "c7", actions: [Self.yes]))).isDone)
        #expect(try store.counters().categories == before.categories)
    }
}
