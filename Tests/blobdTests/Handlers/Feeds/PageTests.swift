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

    /// All names of an array's elements, read page by page.
    private func names(
        _ dialect: TestDialect, _ array: String, _ target: String, then parameter: String
    ) throws -> (names: [String], pageCount: Int) {
        let client = try ResourceClient(dialect, daemon)
        var (names, pageCount, place) = ([String](), 0, "")
        repeat {
            let page = try client.perform(ResourceCall(.get, target + place))
            #expect(page.status == 200 && page.body.count <= Self.documentByteCountMax)
            let document = try JSONValue.parse(page.body.span.bytes, limits: Self.limits)
            guard case .array(let elements)? = document[array] else { throw TestFailure(page.text) }
            names += elements.compactMap { ($0["id"] ?? $0["name"])?.text }
            place = document["next"]?.text.map { "\(parameter)=\($0)" } ?? ""
            pageCount += 1
        } while !place.isEmpty
        return (names, pageCount)
    }

    @Test(
        "Lists come in short pages, whose next leads through all of them",
        arguments: TestDialect.allCases)
    func lists(dialect: TestDialect) throws {
        let users = "/v1/users/anna/notifications?limit=1000"
        for target in [users, users + "&read=false"] {
            let seen = try names(dialect, "notifications", target, then: "&before")
            #expect(seen.names == Self.ids.reversed() && seen.pageCount > 1)
        }
        // There is no list of all over HTTP.
        if dialect == .call {
            let target = "/v1/notifications?limit=1000"
            let seen = try names(dialect, "notifications", target, then: "&after")
            #expect(seen.names == Self.ids && seen.pageCount > 1)
        }
        let title = String(repeating: "t", count: 256)
        let actions = (0..<10).map { #"{"identifier":"a\#($0)","title":"\#(title)"}"# }
        let body = #"{"actions":[\#(actions.joined(separator: ","))]}"#
        let categories = (0..<150).map { "c\(100 + $0)" }
        let client = try ResourceClient(dialect, daemon)
        for name in categories {
            let put = ResourceCall(.put, "/v1/categories/\(name)", body)
            #expect(try client.perform(put).status == 201)
        }
        let seen = try names(dialect, "categories", "/v1/categories", then: "?after")
        #expect(seen.names == categories && seen.pageCount > 1)
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

    private static let limits: JSONLimits = {
        var limits = JSONLimits()
        limits.byteCountMax = 8 << 20
        limits.memberCountMax = .max
        limits.depthMax += 16
        return limits
    }()
}
