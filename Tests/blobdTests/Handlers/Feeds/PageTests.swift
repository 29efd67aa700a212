import BlobClient
import BlobJSON
import BlobProtocol
import TestSupport
import Testing

/// Pages end by bytes as well as by number, and what asks for all reads them to the end. Twelve clients that asked for a
/// list of 1,000 records of 40 KB and did not read took 693 MB.
@Suite(.waiting) struct PageTests {
    private let daemon: DaemonProcess
    private static let ids = (0..<60).map { "n\(100 + $0)" }
    private static let categories = (0..<150).map { "c\(100 + $0)" }
    /// What the documents promise for any page.
    private static let documentByteCountMax = 1 << 20

    init() throws {
        daemon = try DaemonProcess()
        let client = try TestConnection(.http, daemon)
        let text = String(repeating: "d", count: 16_000)
        let document = #"{"owner":"anna","message":"\#(text.prefix(4_000))","data":"\#(text)"}"#
        let title = String(repeating: "t", count: 256)
        let actions = (0..<10).map { #"{"identifier":"a\#($0)","title":"\#(title)"}"# }
        let category = #"{"actions":[\#(actions.joined(separator: ","))]}"#
        let documents =
            Self.ids.map { ("/v1/notifications/\($0)", document) }
            + Self.categories.map { ("/v1/categories/\($0)", category) }
        for (target, document) in documents {
            let answer = try client.perform(TestRequest("PUT", target, document))
            guard answer.status == 201 else { throw TestFailure(answer.text) }
        }
    }

    /// All names of an array's elements, read page by page.
    private func names(
        _ client: TestConnection, _ array: String, _ target: String, then parameter: String
    ) throws -> [String] {
        var (names, pageCount, place) = ([String](), 0, "")
        repeat {
            let page = try client.perform(TestRequest("GET", target + place))
            #expect(page.status == 200 && page.body.count <= Self.documentByteCountMax)
            let document = try SeenPage.document(page.body)
            guard case .array(let elements)? = document[array] else { throw TestFailure(page.text) }
            names += elements.compactMap { ($0["id"] ?? $0["name"])?.text }
            place = document["next"]?.text.map { "\(parameter)=\($0)" } ?? ""
            pageCount += 1
        } while !place.isEmpty
        #expect(pageCount > 1)
        return names
    }

    @Test("Lists and changes come in short pages, whose next leads through all of them")
    func pages() throws {
        for dialect in TestDialect.allCases {
            let client = try TestConnection(dialect, daemon)
            let users = "/v1/users/anna/notifications?limit=1000"
            for target in [users, users + "&read=false"] {
                let seen = try names(client, "notifications", target, then: "&before")
                #expect(seen == Self.ids.reversed())
            }
            // There is no list of all over HTTP.
            if dialect == .call {
                let target = "/v1/notifications?limit=1000"
                #expect(try names(client, "notifications", target, then: "&after") == Self.ids)
            }
            #expect(
                try names(client, "categories", "/v1/categories", then: "?after")
                    == Self.categories)
            let following = try TestConnection(dialect, daemon)
            try following.send(TestRequest("FOLLOW", "/v1/users/anna/changes?since=0&limit=1000"))
            #expect(
                try Self.ids.map { _ in try following.answer().statusLine }
                    == Self.ids.map { "told published \($0)" })
        }
        let client = try daemon.connect()
        var (seen, place, hasMore) = ([String](), "0", true)
        while hasMore {
            let page = try client.changes(of: "anna", since: place, query: "&limit=1000")
            #expect(page.changes.count < 20)
            seen += page.changes.map(\.id)
            (place, hasMore) = (page.next, page.hasMore)
        }
        #expect(seen == Self.ids)
    }

    @Test("Commands and the client read all pages")
    func allPages() async throws {
        for (command, count) in [
            (["ls"], 60), (["history", "anna"], 60),
            (["ls", "--limit", "39"], 39), (["category"], 150),
        ] {
            let json = command == ["category"] ? [] : ["--json"]
            let listed = try blobd(command + json, socket: daemon.socketPath)
            #expect(listed.status == 0, "\(listed.errors)")
            #expect(listed.text.split(separator: "\n").count == count, "\(command)")
        }
        let client = BlobdClient(socketPath: daemon.socketPath)
        var (names, next) = ([String](), String?.none)
        repeat {
            let page = try await client.call(.categories(after: next))
            names += page.categories.map(\.name)
            next = page.next
        } while next != nil
        #expect(names == Self.categories)
        let page = try await client.call(.list())
        #expect(page.notifications.count < Self.ids.count && page.next != nil)
    }
}
