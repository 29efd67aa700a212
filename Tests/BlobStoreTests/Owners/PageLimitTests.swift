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

    @Test("A change that a page of a feed has no room for is in the next one")
    func feed() throws {
        var (seen, pageCount) = ([String](), 0)
        var start: FeedStart? = .beginning
        while let from = start {
            let page = try store.changes(of: "anna", from: from, limit: 1_000)
            seen += page.changes.map(\.id)
            pageCount += 1
            start = page.hasMore ? .after(page.next) : nil
        }
        #expect(seen == Self.ids)
        #expect(pageCount >= Self.count * 20_000 / StoreLimits.pageByteCountMax)
    }

    /// A list of none had no next, as if it were the last one, and all else took the nearest limit.
    @Test(
        "A limit that a daemon refuses is refused by every page", arguments: [.min, 0, 1_001, .max])
    func refusedLimit(limit: Int) throws {
        var query = HistoryQuery()
        query.limit = limit
        let errors = [
            try failure { _ = try store.history(of: "anna", query, asOf: noon) },
            try failure { _ = try store.changes(of: "anna", from: .beginning, limit: limit) },
            try failure {
                try store.withSnapshot { (snapshot) throws(StoreError) in
                    _ = try snapshot.records(after: RawSpan(), limit: limit, asOf: noon)
                }
            },
        ]
        for error in errors {
            #expect(error.description == "the limit is \(limit); it must be 1 to 1000")
        }
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
}
