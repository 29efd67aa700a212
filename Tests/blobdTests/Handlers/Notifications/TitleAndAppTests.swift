import BlobJSON
import BlobProtocol
import Testing

/// Titles and apps in everything that stores a notification, and the refusal of empty ones.
@Suite struct TitleAndAppTests {
    private let daemon: DaemonProcess
    private let client: RawClient
    private static let json = ["Content-Type": "application/json"]

    init() throws {
        daemon = try DaemonProcess()
        client = try daemon.connect()
    }

    private func put(_ id: String, _ document: String) throws -> HTTPAnswer {
        try client.request(
            "PUT", "/v1/notifications/\(id)", Self.json, body: Array(document.utf8))
    }

    @Test("A document has a title and an app, and record, history, feed and batch say them")
    func documents() throws {
        let made = try put("1", #"{"owner":"u","app":"mail","title":"Ann","message":"Dinner?"}"#)
        #expect(made.status == 201, "\(made.text)")
        let words = #""owner":"u","app":"mail","title":"Ann","message":"Dinner?""#
        for target in [
            "/v1/notifications/1", "/v1/users/u/notifications", "/v1/users/u/changes?since=0",
        ] {
            let read = try client.request("GET", target)
            #expect(read.text.contains(words), "\(target): \(read.text)")
        }
        let patched = try client.request(
            "PATCH", "/v1/notifications/1", Self.json, body: Array(#"{"title":null}"#.utf8))
        #expect(patched.status == 200 && patched.member("title") == nil)
        let moved = try client.request(
            "PATCH", "/v1/notifications/1", Self.json, body: Array(#"{"app":"chat"}"#.utf8))
        #expect(moved.code == "immutable_member")
        let batch = try client.request(
            "POST", "/v1/notifications:batch", ["Content-Type": "application/x-ndjson"],
            body: Array("{\"id\":\"2\",\"title\":\"T\"}\n{\"id\":\"3\",\"owner\":\"u\"}\n".utf8))
        #expect(batch.text.contains(#"{"id":"2","status":201"#))
        #expect(batch.text.contains(#""id":"3","status":422,"code":"empty_notification""#))
        for (document, code) in [
            (#"{"title":"a\nb"}"#, "bad_title"), (#"{"title":""}"#, "bad_title"),
            (#"{"title":"\#(String(repeating: "t", count: 257))"}"#, "bad_title"),
            (#"{"title":1}"#, "bad_document"), (#"{"message":"m","app":"a/b"}"#, "bad_app"),
            (#"{"message":"m","app":""}"#, "bad_app"),
        ] {
            let refused = try put("4", document)
            #expect(refused.status == 400 && refused.code == code, "\(document): \(refused.text)")
        }
        let long = String(repeating: "t", count: 256)
        #expect(try put("4", #"{"title":"\#(long)"}"#).status == 201)
    }

    /// A picture that was sent again without a title took it away.
    @Test("A raw payload's query sets title and app, and what it does not say stays")
    func rawPayloads() throws {
        let target = "/v1/notifications/1/payload"
        let first = try client.request(
            "PUT", "\(target)?owner=u&app=mail&title=Ann%20%26%20Ben", body: [1])
        #expect(first.status == 201, "\(first.text)")
        #expect(first.member("title") == "Ann & Ben" && first.member("app") == "mail")
        let second = try client.request("PUT", target, body: [2])
        #expect(second.member("title") == "Ann & Ben" && second.member("app") == "mail")
        #expect(try client.request("PUT", "\(target)?title=%0a", body: [2]).code == "bad_title")
        #expect(try client.request("PUT", "\(target)?app=a%2Fb", body: [2]).code == "bad_app")
        let both = try client.request("PUT", "\(target)?title=a&title=b", body: [2])
        #expect(both.code == "bad_query")
    }

    @Test("A binary put says title and app in its head")
    func binaryPuts() throws {
        let client = try daemon.connectBinary()
        var head: [UInt8] = []
        let draft = Put.Draft(id: "b", owner: "u", app: "mail", title: "Ann")
        try draft.compose(into: &head)
        client.send(frame(.put, flags: draft.flags, head: head, body: [1]))
        #expect(try client.frameAnswer().status == 201)
        let record = try daemon.request("GET", "/v1/notifications/b")
        #expect(record.member("title") == "Ann" && record.member("app") == "mail")
    }

    /// `{}` was stored: a place in the history with nothing to show.
    @Test("A notification without title, message, data and part is 422, over HTTP and call")
    func empty() throws {
        for dialect in TestDialect.allCases {
            let client = try ResourceClient(dialect, daemon)
            let target = "/v1/notifications/e\(dialect)"
            for document in ["{}", #"{"owner":"u","rich_type":"img","group":"g","actions":[]}"#] {
                let answer = try client.perform(ResourceCall(.put, target, document))
                #expect(answer.status == 422 && answer.code == "empty_notification")
            }
            let posted = try client.perform(
                ResourceCall(.post, "/v1/notifications", #"{"owner":"u"}"#))
            #expect(posted.status == 422 && posted.code == "empty_notification")
            for document in [#"{"title":"t"}"#, #"{"message":"m"}"#, #"{"data":{}}"#] {
                let answer = try client.perform(ResourceCall(.put, target, document))
                #expect(answer.status < 300, "\(document): \(answer.text)")
                let members = #"{"title":null,"message":null,"data":null}"#
                let emptied = try client.perform(ResourceCall(.patch, target, members))
                #expect(emptied.status == 422 && emptied.code == "empty_notification")
            }
            let other = try client.perform(
                ResourceCall(.patch, target, #"{"data":null,"title":"t"}"#))
            #expect(other.status == 200)
        }
        let read = try client.request("GET", "/v1/users/u/notifications")
        #expect(read.text.hasPrefix(#"{"notifications":[]"#))
    }
}
