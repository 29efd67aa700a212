import BlobJSON
import BlobProtocol
import TestSupport
import Testing

/// Categories over HTTP.
@Suite(.waiting) struct CategoryTests {
    private let daemon: DaemonProcess
    private let client: RawClient
    private let json = ["Content-Type": "application/json"]

    init() throws {
        daemon = try DaemonProcess()
        client = try daemon.connect()
    }

    // A device that had read the first version showed its buttons: no notification of its user named the category when
    // it was edited, so the feed did not tell.
    @Test("A record has the revision that its category had when it was changed last")
    func revision() throws {
        func edit(_ title: String) throws -> String {
            let document = #"{"actions":[{"identifier":"yes","title":"\#(title)"}]}"#
            let set = try client.request(
                "PUT", "/v1/categories/INVITE", json, body: Array(document.utf8))
            return try #require(set.member("revision"))
        }
        func told() throws -> String? {
            try client.request("GET", "/v1/notifications/n").member("category_revision")
        }
        let first = try edit("Yes")
        _ = try daemon.publish("n", #"{"owner":"anna","message":"m","category":"INVITE"}"#)
        #expect(try told() == first)
        let second = try edit("Sure")
        #expect(try told() == first, "its user is told of the edit")
        _ = try client.request("DELETE", "/v1/notifications/n")
        _ = try daemon.publish("n", #"{"owner":"anna","message":"m","category":"INVITE"}"#)
        #expect(try told() == second)
        let third = try edit("Of course")
        try daemon.patch("n", #"{"read":true}"#)
        #expect(try told() == third)
        try daemon.patch("n", #"{"category":null}"#)
        #expect(try told() == nil)
    }

    @Test("A category's revision is its entity tag, and conditions go by it")
    func conditions() throws {
        let target = "/v1/categories/INVITE"
        func put(_ document: String, _ fields: [String: String]) throws -> HTTPAnswer {
            try client.request(
                "PUT", target, json.merging(fields) { $1 }, body: Array(document.utf8))
        }
        let empty = #"{"actions":[]}"#
        let other = #"{"actions":[{"identifier":"yes","title":"Yes"}]}"#
        #expect(try put(empty, ["If-Match": "*"]).code == "precondition_failed")
        let created = try put(empty, ["If-None-Match": "*"])
        #expect(created.status == 201 && created["ETag"] == "\"1\"")
        let there = try put(empty, ["If-None-Match": "*"])
        #expect(there.status == 412 && there.member("revision") == "1")
        #expect(there.member("detail") == "the category has the revision 1")
        #expect(try client.request("GET", target)["ETag"] == "\"1\"")
        #expect(try client.request("GET", target, ["If-None-Match": "\"1\""]).status == 304)
        #expect(try client.request("GET", target, ["If-Match": "\"2\""]).status == 412)
        let changed = try put(other, ["If-Match": "\"1\""])
        #expect(changed.status == 200 && changed["ETag"] == "\"2\"")
        #expect(try put(empty, ["If-Match": "\"1\""]).status == 412)
        for fields in [
            ["If-Match": "\"1\""], ["If-None-Match": "*"],
            ["If-Match": "\"sha256:\(String(repeating: "0", count: 64))\""],
        ] {
            #expect(try client.request("DELETE", target, fields).status == 412, "\(fields)")
        }
        #expect(try client.request("DELETE", target, ["If-Match": "\"2\""]).status == 204)
        let gone = try client.request("DELETE", target, ["If-None-Match": "*"])
        #expect(gone.status == 404 && gone.member("detail") == "the category was not found")
    }

    @Test("Of those who edit at the same time under one condition, one wins each time")
    func races() throws {
        // Conditions on categories were refused, so of two editors the second won unseen.
        let others = try (0..<4).map { _ in try daemon.connect() }
        for round in 0..<60 {
            let target = "/v1/categories/C\(round)"
            for (index, other) in others.enumerated() {
                let fields = json.merging(["If-None-Match": "*"]) { $1 }
                let document = #"{"actions":[{"identifier":"a\#(index)","title":"A"}]}"#
                other.sendRequest("PUT", target, fields, body: Array(document.utf8))
            }
            let created = try others.map { try $0.answer().status }
            #expect(created.sorted() == [201, 412, 412, 412])
            let tag = try #require(try client.request("GET", target)["ETag"])
            for (index, other) in others.enumerated() {
                let fields = json.merging(["If-Match": tag]) { $1 }
                if index == 3 {
                    other.sendRequest("DELETE", target, fields)
                } else {
                    let document = #"{"actions":[{"identifier":"b\#(index)","title":"B"}]}"#
                    other.sendRequest("PUT", target, fields, body: Array(document.utf8))
                }
            }
            let changed = try others.map { try $0.answer().status }
            #expect(changed.filter { $0 < 300 }.count == 1, "\(changed)")
        }
    }

    @Test("An edit is a line in the feeds of those who show the category, when it is answered")
    func lines() throws {
        let target = "/v1/categories/INVITE"
        let empty = Array(#"{"actions":[]}"#.utf8)
        let other = Array(#"{"actions":[{"identifier":"yes","title":"Yes"}]}"#.utf8)
        _ = try client.request("PUT", target, json, body: empty)
        for (id, owner) in [("1", "anna"), ("2", "anna"), ("3", "bert")] {
            try daemon.publish(id, #"{"owner":"\#(owner)","message":"m","category":"INVITE"}"#)
        }
        try daemon.publish("4", #"{"owner":"cleo","message":"m"}"#)
        let places = try ["anna", "bert", "cleo"].map {
            try client.changes(of: $0, since: "latest").next
        }
        let waiting = try daemon.connect()
        waiting.sendChanges(of: "anna", since: places[0], query: "&wait=60")
        let stream = try daemon.connect()
        _ = try stream.beginEvents(of: "anna", since: places[0])
        let watching = try daemon.connectBinary()
        watching.send(try watchFrame("bert", since: places[1]))
        try daemon.waitUntil("watchers") { $0 == 3 }
        let edited = try client.request("PUT", target, json, body: other)
        #expect(edited.status == 200)
        // The answer comes when all owners are told.
        let page = try client.changes(of: "anna", since: places[0])
        #expect(page.changes.map(\.kind) == ["category"])
        #expect(page.changes[0].category?["name"]?.text == "INVITE")
        #expect(page.changes[0].category == (try? JSONValue.parse(edited.body.span.bytes)))
        #expect(try waiting.page().words == ["category INVITE"])
        let event = try stream.change()
        #expect(event.words == "category INVITE" && event.cursor == page.changes[0].cursor)
        #expect(try client.changes(of: "cleo", since: places[2]).changes.isEmpty)
        // One that changes nothing tells nobody.
        #expect(try client.request("PUT", target, json, body: other).status == 200)
        #expect(try client.changes(of: "anna", since: page.next).changes.isEmpty)
        #expect(try client.request("DELETE", target).status == 204)
        let gone = try client.changes(of: "anna", since: page.next)
        #expect(gone.words == ["category INVITE"])
        #expect(gone.changes[0].category?["deleted"] == .bool(true))
    }

    @Test("Many owners are told before the answer, and others are served meanwhile")
    func manyOwners() throws {
        let target = "/v1/categories/INVITE"
        _ = try client.request("PUT", target, json, body: Array(#"{"actions":[]}"#.utf8))
        for start in stride(from: 0, to: 3_000, by: 1_000) {
            let lines = (start..<start + 1_000).map {
                #"{"id":"n\#($0)","owner":"u\#($0 % 500)","message":"m","category":"INVITE"}"#
                    + "\n"
            }
            let answer = try client.request(
                "POST", "/v1/notifications:batch", ["Content-Type": "application/x-ndjson"],
                body: Array(lines.joined().utf8))
            #expect(answer.status == 200)
        }
        let place = try client.changes(of: "u499", since: "latest").next
        let editing = try daemon.connect()
        editing.sendRequest(
            "PUT", target, json,
            body: Array(#"{"actions":[{"identifier":"yes","title":"Yes"}]}"#.utf8))
        #expect(try daemon.publish("other", #"{"owner":"x","message":"m"}"#).status == 201)
        #expect(try editing.answer().status == 200)
        #expect(try client.changes(of: "u499", since: place).words == ["category INVITE"])
        #expect(try daemon.statistic("tombstones") == 500)
    }
}
