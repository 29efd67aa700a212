import BlobJSON
import BlobProtocol
import TestSupport
import Testing

/// Pages end by bytes as well as by number. Twelve clients that asked for a list of 1,000 records of
/// 40 KB and did not read took 693 MB.
@Suite(.waiting) struct PageTests {
    private let daemon: DaemonProcess
    private static let ids = (0..<60).map { "n\(100 + $0)" }
    /// What the documents promise for any page.
    private static let documentByteCountMax = 1 << 20

    init() throws {
        daemon = try DaemonProcess()
        let text = String(repeating: "d", count: 16_000)
        for id in Self.ids {
            let document =
                #"{"owner":"anna","message":"\#(text.prefix(4_000))","data":"\#(text)"}"#
            guard try daemon.publish(id, document).status == 201 else {
                throw TestFailure("not published")
            }
        }
    }

    private static func ids(_ document: JSONValue) throws -> [String] {
        guard case .array(let records)? = document["notifications"] else {
            throw TestFailure("no page")
        }
        return records.compactMap { $0["id"]?.text }
    }

    @Test("A list comes in short pages, and its next leads through all of it")
    func list() throws {
        let client = try daemon.connectBinary()
        var seen: [String] = []
        var after: String?
        repeat {
            let target = "/v1/notifications?limit=1000" + (after.map { "&after=\($0)" } ?? "")
            let page = try client.exchange(callFrame(.get, target))
            #expect(page.status == 200 && page.body.count <= Self.documentByteCountMax)
            let document = try JSONValue.parse(page.body.span.bytes, limits: Self.limits)
            let ids = try Self.ids(document)
            #expect(ids.count < 20)
            seen += ids
            after = document["next"]?.text
        } while after != nil
        #expect(seen == Self.ids)
    }

    @Test("A history comes in short pages in both dialects", arguments: TestDialect.allCases)
    func history(dialect: TestDialect) throws {
        let client = try ResourceClient(dialect, daemon)
        for filter in ["", "&read=false"] {
            var seen: [String] = []
            var before = ""
            repeat {
                let page = try client.perform(
                    ResourceCall(
                        .get, "/v1/users/anna/notifications?limit=1000\(filter)\(before)"))
                #expect(page.status == 200 && page.body.count <= Self.documentByteCountMax)
                let document = try JSONValue.parse(page.body.span.bytes, limits: Self.limits)
                seen += try Self.ids(document)
                before = document["next"]?.text.map { "&before=\($0)" } ?? ""
            } while !before.isEmpty
            #expect(seen == Self.ids.reversed())
        }
    }

    @Test("Changes come in short pages: asked for, as a stream, and watched")
    func changes() throws {
        let client = try daemon.connect()
        var seen: [String] = []
        var page = try client.changes(of: "anna", since: "0", query: "&limit=1000")
        while true {
            #expect(page.changes.count < 20)
            seen += page.changes.map(\.id)
            guard page.hasMore else { break }
            page = try client.changes(of: "anna", since: page.next, query: "&limit=1000")
        }
        #expect(seen == Self.ids)
        let stream = try daemon.connect()
        _ = try stream.beginEvents(of: "anna", since: "0")
        #expect(try Self.ids.map { _ in try stream.change().id } == Self.ids)
        let watcher = try daemon.connectBinary()
        watcher.send(try watchFrame("anna", since: "0", limit: 1_000))
        var watched: [String] = []
        while watched.count < Self.ids.count {
            let answer = try watcher.frameAnswer()
            #expect(answer.status == 200 && answer.body.count <= Self.documentByteCountMax)
            watched += try SeenPage(answer.body).changes.map(\.id)
        }
        #expect(watched == Self.ids)
    }

    @Test("Categories come in short pages in both dialects", arguments: TestDialect.allCases)
    func categories(dialect: TestDialect) throws {
        let client = try ResourceClient(dialect, daemon)
        let title = String(repeating: "t", count: 256)
        let actions = (0..<10).map { #"{"identifier":"a\#($0)","title":"\#(title)"}"# }
        let body = #"{"actions":[\#(actions.joined(separator: ","))]}"#
        let names = (0..<150).map { "c\(100 + $0)" }
        for name in names {
            let put = ResourceCall(.put, "/v1/categories/\(name)", body)
            #expect(try client.perform(put).status == 201)
        }
        var seen: [String] = []
        var after = ""
        var pageCount = 0
        repeat {
            let page = try client.perform(ResourceCall(.get, "/v1/categories\(after)"))
            #expect(page.status == 200 && page.body.count <= Self.documentByteCountMax)
            let document = try JSONValue.parse(page.body.span.bytes, limits: Self.limits)
            guard case .array(let categories)? = document["categories"] else {
                throw TestFailure("no categories")
            }
            seen += categories.compactMap { $0["name"]?.text }
            after = document["next"]?.text.map { "?after=\($0)" } ?? ""
            pageCount += 1
        } while !after.isEmpty
        #expect(seen == names && pageCount > 1)
    }

    private static let limits: JSONLimits = {
        var limits = JSONLimits()
        limits.byteCountMax = 8 << 20
        limits.memberCountMax = .max
        limits.depthMax += 16
        return limits
    }()
}
