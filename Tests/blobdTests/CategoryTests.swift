import BlobProtocol
import Testing

/// Categories over HTTP.
@Suite struct CategoryTests {
    private let daemon: DaemonProcess
    private let client: RawClient
    private let json = ["Content-Type": "application/json"]

    init() throws {
        daemon = try DaemonProcess()
        client = try daemon.connect()
    }

    @Test("A category is stored, read, listed by name, and removed")
    func life() throws {
        let actions = #"[{"identifier":"yes","title":"Yes","foreground":true}]"#
        let target = "/v1/categories/INVITE"
        let set = try client.request(
            "PUT", target, json, body: Array(#"{"actions":\#(actions)}"#.utf8))
        #expect(set.status == 201 && set.member("name") == "INVITE")
        let read = try client.request("GET", target)
        #expect(read.status == 200 && read.text == set.text)
        #expect(try client.request("PUT", target, json, body: set.body).status == 200)
        _ = try client.request(
            "PUT", "/v1/categories/ALARM", json, body: Array(#"{"actions":[]}"#.utf8))
        let all = try client.request("GET", "/v1/categories")
        #expect(
            all.text == #"{"categories":[{"name":"ALARM","actions":[]},\#(set.text)]}"#)
        #expect(try client.request("DELETE", target).status == 204)
        let gone = try client.request("DELETE", target)
        #expect(gone.code == "not_found" && gone.member("detail") == "there is no such category")
        #expect(try client.request("GET", target).code == "not_found")
    }

    @Test("A notification that names a category takes its actions as answers")
    func actions() throws {
        let target = "/v1/categories/INVITE"
        let document = Array(#"{"actions":[{"identifier":"yes","title":"Yes"}]}"#.utf8)
        _ = try client.request("PUT", target, json, body: document)
        let made = try client.request(
            "PUT", "/v1/notifications/n", json,
            body: Array(#"{"message":"m","category":"INVITE"}"#.utf8))
        #expect(made.status == 201 && made.member("category") == "INVITE")
        func respond(_ action: String) throws -> HTTPAnswer {
            try client.request(
                "POST", "/v1/notifications/n/responses", json,
                body: Array(#"{"action":"\#(action)"}"#.utf8))
        }
        #expect(try respond("yes").status == 201)
        // The name stays when the category goes, and means nothing then.
        #expect(try client.request("DELETE", target).status == 204)
        #expect(try respond("yes").code == "unknown_action")
        #expect(try respond("default").status == 201)
        let other = try client.request(
            "PUT", "/v1/notifications/o", json,
            body: Array(#"{"message":"m","category":"INVITE"}"#.utf8))
        #expect(other.code == "unknown_category")
    }
}
