import BlobJSON
import TestSupport
import Testing

@testable import BlobStore

/// A page of 1,000 records of 40 KB was one answer of 41 MB, for each client that asked. And a
/// history with a filter read 1,000 large records in one time slice of a worker, to answer none of them.
@Suite struct PageLimitTests {
    private let folder = TemporaryFolder()
    private let store: BlobStore
    private static let count = 120
    private static let ids = (0..<count).map { "n\(1_000 + $0)" }

    init() throws {
        store = try folder.open()
        // About 20 KB each.
        let changes = Self.ids.map { id in
            Change.notification(id, owner: "anna") {
                $0.message = String(repeating: "m", count: StoreLimits.messageByteCountMax)
                $0.details.data = JSONFragment(.string(String(repeating: "d", count: 16_000)))
            }
        }
        #expect(try store.apply(changes, asOf: noon).allSatisfy { $0.isDone })
    }

    private static let pageKinds = ["list", "history", "changes"]

    @Test("A page ends by bytes, and its pages together have everything once", arguments: pageKinds)
    func bytes(kind: String) throws {
        var seen: [String] = []
        var (after, start, query) = ("", FeedStart.beginning, HistoryQuery())
        query.limit = 1_000
        var hasMore = true
        while hasMore {
            let records: [Record]
            switch kind {
            case "list":
                let place = Array(after.utf8)
                let page = try store.withSnapshot { (snapshot) throws(StoreError) in
                    try snapshot.records(after: place.span.bytes, limit: 1_000, asOf: noon)
                }
                (records, after, hasMore) = (page.records, page.next ?? "", page.next != nil)
            case "history":
                let page = try store.history(of: "anna", query, asOf: noon)
                (records, query.before, hasMore) = (page.records, page.next, page.next != nil)
            default:
                let page = try store.changes(of: "anna", from: start, limit: 1_000)
                #expect(page.changes.last?.cursor.position == page.next.position)
                records = page.changes.compactMap(\.record)
                (start, hasMore) = (.after(page.next), page.hasMore)
            }
            let byteCount = records.reduce(0) { $0 + RecordEncoder.bytes($1).count }
            #expect(!records.isEmpty && byteCount <= StoreLimits.pageByteCountMax)
            seen += records.map(\.id)
        }
        #expect(seen == (kind == "history" ? Self.ids.reversed() : Self.ids))
    }

    @Test("A filter that leaves out much ends its page, which says where to go on")
    func filtered() throws {
        _ = try store.patch("n1003") { $0.isRead = .set(true) }
        var query = HistoryQuery()
        query.limit = 1_000
        query.filter.isRead = true
        var pageCount = 0
        var seen: [String] = []
        repeat {
            let page = try store.history(of: "anna", query, asOf: noon)
            pageCount += 1
            seen += page.records.map(\.id)
            query.before = page.next
        } while query.before != nil
        #expect(seen == ["n1003"])
        let record = try #require(try store.record(for: "n1000", asOf: noon))
        let inOnePage = StoreLimits.pageByteCountReadMax / RecordEncoder.bytes(record).count
        #expect(pageCount >= Self.count / (inOnePage + 2))
    }

    @Test("A list over many that have expired ends, and goes on behind them")
    func expired() throws {
        let count = StoreLimits.listEntriesLookedAtMax + 10
        _ = try store.apply(
            (0..<count).map { .notification("expired\($0)", end: noon.adding(seconds: 1)) },
            asOf: noon)
        let later = noon.adding(seconds: 10)
        func page(after id: String) throws -> RecordPage {
            try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.records(after: id.utf8.span.bytes, limit: 3, asOf: later)
            }
        }
        let first = try page(after: "")
        #expect(first.records.isEmpty)
        let second = try page(after: try #require(first.next))
        #expect(second.records.map(\.id) == Array(Self.ids.prefix(3)))
        #expect(second.next == Self.ids[2])
    }

    @Test("Categories come in pages, too")
    func categories() throws {
        let actions = (0..<StoreLimits.actionCountMax).map {
            NotificationAction(
                identifier: "\($0)",
                title: String(repeating: "t", count: StoreLimits.actionTitleByteCountMax))
        }
        let names = (0..<300).map { "c\(1_000 + $0)" }
        for name in names {
            _ = try store.apply(.setCategory(Category(name: name, actions: actions)))
        }
        var seen: [String] = []
        var pageCount = 0
        var next: String? = ""
        while let after = next {
            let page = try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.categories(after: after.utf8.span.bytes)
            }
            #expect(!page.categories.isEmpty)
            seen += page.categories.map(\.name)
            pageCount += 1
            next = page.next
        }
        #expect(seen == names && pageCount > 2)
        #expect(try store.categories().map(\.name) == names)
    }
}
