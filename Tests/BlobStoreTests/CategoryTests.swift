import Testing

@testable import BlobStore

@Suite struct CategoryTests {
    private static let yes = NotificationAction(identifier: "yes", title: "Yes")

    @Test("A category is created, replaced, found and removed")
    func life() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        for (actions, isNew) in [([], true), ([Self.yes], false), ([Self.yes], false)] {
            let category = Category(name: "ask", actions: actions)
            guard
                case .categorySet(category, isNew) = try store.apply(.setCategory(category))
            else {
                Issue.record("\(actions)")
                continue
            }
            let found = try store.category("ask")
            #expect(found == category)
        }
        let counters = try store.counters()
        #expect(counters.categories == 1)
        #expect(counters.revision == 0)
        let report = try store.verify()
        #expect(report.problems == [])
        let removed = try store.apply(.removeCategory(name: "ask"))
        #expect(removed.isDone)
        let again = try store.apply(.removeCategory(name: "ask"))
        #expect(again.isNotFound)
        let tooLong = try store.apply(.removeCategory(name: String(repeating: "x", count: 600)))
        #expect(tooLong.isNotFound)
        let found = try store.category("ask")
        #expect(found == nil)
        let after = try store.counters()
        #expect(after.categories == 0)
    }

    @Test("One that breaks a rule is refused; so is one too many, and not a change of one")
    func refused() throws {
        let folder = TemporaryFolder()
        let store = try folder.open()
        for name in ["", "a/b", "\u{0}", String(repeating: "x", count: 65)] {
            let outcome = try store.apply(.setCategory(Category(name: name, actions: [])))
            #expect(outcome.field == .category, "\(name)")
        }
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
        let change = try store.apply(.setCategory(Category(name: "c7", actions: [Self.yes])))
        #expect(change.isDone)
        let after = try store.counters()
        #expect(after == before)
    }
}
