import TestSupport
import Testing

@testable import BlobStore

@Suite struct CategoryTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore

    init() throws { store = try folder.open() }

    private static let yes = NotificationAction(identifier: "yes", title: "Yes")

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
