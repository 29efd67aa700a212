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

    @Test("Of those who edit at the same time under one condition, one wins each time")
    func races() throws {
        // Conditions on categories were refused, so of two editors the second won unseen.
        let others = try (0..<4).map { _ in try daemon.connect() }
        for round in 0..<20 {
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
