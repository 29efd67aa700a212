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
        for id in Self.ids { try Self.publish(id, in: store) }
    }

    /// About 20 KB.
    private static func publish(_ id: String, in store: BlobStore) throws {
        try store.publish(id, owner: "anna") {
            $0.message = String(repeating: "m", count: StoreLimits.messageByteCountMax)
            $0.details.data = JSONFragment(.string(String(repeating: "d", count: 16_000)))
        }
    }

    private static func byteCount(_ records: [Record]) -> Int {
        records.reduce(0) { $0 + RecordEncoder.bytes($1).count }
    }

    /// What every page keeps to.
    private static func check(_ records: [Record]) {
        #expect(byteCount(records) <= StoreLimits.pageByteCountMax)
    }

    @Test("A list ends by bytes, and its pages together have everything once")
    func list() throws {
        var seen: [String] = []
        var next: String? = ""
        while let after = next {
            let page = try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.records(after: after.utf8.span.bytes, limit: 1_000, asOf: noon)
            }
            Self.check(page.records)
            #expect(!page.records.isEmpty)
            seen += page.records.map(\.id)
            next = page.next
        }
        #expect(seen == Self.ids)
    }

    @Test("A history ends by bytes, and its pages together have everything once")
    func history() throws {
        var query = HistoryQuery()
        query.limit = 1_000
        var seen: [String] = []
        repeat {
            let page = try store.history(of: "anna", query, asOf: noon)
            Self.check(page.records)
            #expect(!page.records.isEmpty)
            seen += page.records.map(\.id)
            query.before = page.next
        } while query.before != nil
        #expect(seen == Self.ids.reversed())
    }

    @Test("Changes end by bytes, and their pages together have everything once")
    func changes() throws {
        var seen: [String] = []
        var start = FeedStart.beginning
        var hasMore = true
        while hasMore {
            let page = try store.changes(of: "anna", from: start, limit: 1_000)
            Self.check(page.changes.compactMap(\.record))
            #expect(!page.changes.isEmpty)
            #expect(page.changes.last?.cursor.position == page.next.position)
            seen += page.changes.map(\.id)
            start = .after(page.next)
            hasMore = page.hasMore
        }
        #expect(seen == Self.ids)
    }

    @Test("A filter that leaves out much ends its page, which says where to go on")
    func filtered() throws {
        _ = try store.patch("n1003") { $0.isRead = .set(true) }
        var query = HistoryQuery()
        query.limit = 1_000
        query.isRead = true
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
        var changes: [Change] = []
        for number in 0..<count {
            var draft = NotificationDraft(
                id: "expired\(number)", expiry: .at(noon.adding(seconds: 1)))
            draft.message = "m"
            changes.append(.publishNotification(draft))
        }
        _ = try store.apply(changes, asOf: noon)
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
