import BlobJSON
import BlobProtocol
import TestSupport
import Testing

/// Feeds with a filter, and the removal of a group, over every way in.
@Suite(.waiting) struct FilteredChangesTests {
    private let daemon: DaemonProcess
    private let client: RawClient

    init() throws {
        daemon = try DaemonProcess()
        client = try daemon.connect()
    }

    private func publish(_ id: String, _ members: String = "") throws {
        let answer = try daemon.publish(id, #"{"owner":"anna","message":"m"\#(members)}"#)
        guard answer.status == 201 || answer.status == 200 else {
            throw TestFailure(answer.text)
        }
    }

    /// The parameters were 400 `bad_query`.
    @Test("Changes have the filters of the history, and say what leaves")
    func pages() throws {
        try publish("1", #","app":"mail","group":"g""#)
        try publish("2", #","app":"chat","group":"g""#)
        try publish("3", #","action_state":"snoozed","read":true"#)
        for (query, words) in [
            ("&read=false", ["published 1", "published 2"]), ("&read=true", ["published 3"]),
            ("&app=mail", ["published 1"]), ("&app=chat&group=g", ["published 2"]),
            ("&group=g", ["published 1", "published 2"]), ("&app=none", []),
            ("&action_state=snoozed", ["published 3"]),
        ] {
            #expect(
                try client.changes(of: "anna", since: "0", query: query).words == words, "\(query)")
            let history = try client.request(
                "GET", "/v1/users/anna/notifications?limit=9\(query)")
            guard
                case .array(let records)? = try JSONValue.parse(history.body.span.bytes)[
                    "notifications"]
            else { throw TestFailure(history.text) }
            let ids = records.map { $0["id"]?.text ?? "" }
            #expect(ids == words.reversed().map { String($0.suffix(1)) }, "\(query)")
        }
        let place = try client.changes(of: "anna", since: "0", query: "&read=false").next
        try daemon.patch("1", #"{"read":true}"#, device: "phone")
        let left = try client.changes(of: "anna", since: place, query: "&read=false")
        #expect(left.words == ["left 1"])
        #expect(left.changes[0].notification == nil && left.changes[0].device == "phone")
        #expect(
            try client.changes(of: "anna", since: place, query: "&app=chat").words == [])
    }

    @Test("What was deleted or has expired is listed by status, in the history and in the feed")
    func status() throws {
        try publish("1", #","app":"mail""#)
        try publish("2", #","app":"chat","ttl":1"#)
        try publish("3")
        for id in ["1", "3"] {
            let answer = try client.request(
                "DELETE", "/v1/notifications/\(id)", ["Blobd-Device": "phone"])
            #expect(answer.status == 204)
        }
        try publish("3")
        try daemon.waitUntil("tombstones") { $0 == 2 }
        func deleted(_ query: String) throws -> [String] {
            let answer = try client.request(
                "GET", "/v1/users/anna/notifications?status=deleted\(query)")
            let document = try JSONValue.parse(answer.body.span.bytes)
            #expect(document["notifications"] == nil)
            guard case .array(let deleted)? = document["deleted"] else {
                throw TestFailure(answer.text)
            }
            return deleted.map { value in
                ["kind", "id", "app", "device"].compactMap { value[$0]?.text }
                    .joined(separator: " ")
            }
        }
        #expect(try deleted("") == ["expired 2 chat", "deleted 1 mail phone"])
        #expect(try deleted("&app=mail") == ["deleted 1 mail phone"])
        #expect(try deleted("&limit=1") == ["expired 2 chat"])
        let active = try client.request("GET", "/v1/users/anna/notifications?status=active")
        #expect(active.text.ranges(of: #""owner":"#).count == 1, "\(active.text)")
        let page = try client.changes(of: "anna", since: "0", query: "&status=deleted")
        #expect(page.words == ["deleted 1", "expired 2"])
        // A copy of what is deleted loses what is published again.
        try publish("1")
        let left = try client.changes(of: "anna", since: page.next, query: "&status=deleted")
        #expect(left.words == ["left 1"])
    }

    @Test("Platforms and target host are kept, returned, patched, and a filter in every way in")
    func targets() throws {
        try publish("1", #","platforms":["ios","watch"],"target_host":"a.example""#)
        try publish("2", #","platforms":["web"]"#)
        try publish("3", #","platforms":[],"target_host":"b.example""#)
        let record = try client.request("GET", "/v1/notifications/1")
        #expect(
            record.text.contains(#""platforms":["ios","watch"],"target_host":"a.example","#),
            "\(record.text)")
        #expect(try !client.request("GET", "/v1/notifications/3").text.contains("platforms"))
        for (platform, host, words) in [
            ("ios", "", ["published 1", "published 3"]),
            ("web", "", ["published 2", "published 3"]),
            ("", "a.example", ["published 1", "published 2"]),
            ("tv", "a.example", []), ("watch", "b.example", ["published 3"]),
        ] {
            var query = platform.isEmpty ? "" : "&platform=\(platform)"
            if !host.isEmpty { query += "&target_host=\(host)" }
            #expect(
                try client.changes(of: "anna", since: "0", query: query).words == words, "\(query)")
            let watcher = try daemon.connectBinary()
            let page = try watcher.exchange(
                try watchFrame("anna", since: "0", platform: platform, targetHost: host))
            for word in ["1", "2", "3"] {
                let isTold = words.contains("published \(word)")
                #expect(page.text.contains(#""id":"\#(word)""#) == isTold, "\(query): \(page.text)")
            }
            let history = try client.request("GET", "/v1/users/anna/notifications?limit=9\(query)")
            #expect(history.text.ranges(of: #""owner":"#).count == words.count, "\(history.text)")
        }
        try daemon.patch("1", #"{"platforms":["web"],"target_host":null}"#)
        try daemon.patch("2", #"{"platforms":null}"#)
        let place = try client.changes(of: "anna", since: "0", query: "&platform=web")
        #expect(place.words.map { $0.suffix(1) } == ["3", "1", "2"])
    }

    /// A wait that a change of another app ends would be asked again at once, for each such change.
    @Test("A wait goes on over what is not told, and its place goes with it")
    func waits() throws {
        try publish("1", #","app":"mail""#)
        let start = try client.changes(of: "anna", since: "0", query: "&app=mail")
        client.sendChanges(of: "anna", since: start.next, query: "&app=mail&wait=60")
        try daemon.waitUntil("watchers") { $0 == 1 }
        for number in 0..<20 { try publish("c\(number)", #","app":"chat""#) }
        try daemon.patch("1", #"{"read":true}"#)
        let page = try client.page()
        #expect(page.words == ["updated 1"])
        // One whose time is over without a change it tells has come further all the same.
        try publish("more", #","app":"chat""#)
        let empty = try client.changes(of: "anna", since: page.next, query: "&app=mail&wait=1")
        #expect(empty.words == [] && empty.next != page.next)
        #expect(try client.changes(of: "anna", since: empty.next, query: "").words == [])
    }

    @Test("A stream of events and a watch tell what matches, and what left")
    func streams() throws {
        try publish("1", #","app":"mail","group":"g""#)
        try publish("2", #","app":"chat","group":"g""#)
        _ = try client.beginEvents(of: "anna", since: "0", query: "&app=mail&read=false")
        #expect(try client.change().words == "published 1")
        let watch = try daemon.connectBinary()
        watch.send(try watchFrame("anna", since: "0", isRead: false, group: "g", app: "mail"))
        func watched() throws -> SeenPage { try SeenPage(try watch.frameAnswer().body) }
        #expect(try watched().words == ["published 1"])
        try daemon.patch("2", #"{"read":true}"#)
        try daemon.patch("1", #"{"read":true}"#)
        let left = try client.change()
        #expect(left.words == "left 1" && left.notification == nil)
        var words: [String] = []
        while words.isEmpty { words = try watched().words }
        #expect(words == ["left 1"])
        try daemon.patch("1", #"{"read":false,"group":"h"}"#)
        #expect(try client.change().words == "updated 1")
        words = []
        while words.isEmpty { words = try watched().words }
        #expect(words == ["left 1"])
        let snoozed = try daemon.connectBinary()
        snoozed.send(try watchFrame("anna", since: "0", actionState: 3))
        #expect(try SeenPage(try snoozed.frameAnswer().body).words == [])
        try daemon.patch("2", #"{"action_state":"snoozed"}"#)
        words = []
        while words.isEmpty { words = try SeenPage(try snoozed.frameAnswer().body).words }
        #expect(words == ["updated 2"])
    }

    @Test("An invalid filter of a watch is refused, and the connection goes on")
    func badWatches() throws {
        let client = try daemon.connectBinary()
        for (bytes, code) in [
            ([3, 0, 0, 0], "bad_query"), ([0, 5, 0, 0], "bad_action_state"),
            ([255, 0, 0, 0], "bad_query"),
        ] as [([UInt8], String)] {
            let answer = try client.exchange(
                frame(.watch, head: [0, 0, 1, 1] + bytes + Array("o0".utf8)))
            #expect(answer.status == 400 && answer.code == code)
        }
        for (head, code) in [
            ([0, 0, 1, 1, 0, 0, 1, 0] + Array("o0\n".utf8), "bad_group"),
            ([0, 0, 1, 1, 0, 0, 0, 3] + Array("o0a/b".utf8), "bad_app"),
            ([0, 0, 1, 1, 0, 0, 0, 4] + Array("o0app".utf8), "malformed"),
        ] as [([UInt8], String)] {
            let answer = try client.exchange(frame(.watch, head: head))
            #expect(answer.status == 400 && answer.code == code)
        }
        #expect(try client.exchange(frame(.ping, body: [1])).status == 200)
    }

    /// Each had to be deleted by its id.
    @Test("A group is deleted as a whole, and each of it is told", arguments: TestDialect.allCases)
    func groups(dialect: TestDialect) throws {
        let calls = try ResourceClient(dialect, daemon)
        for number in 0..<300 {
            try publish("\(number)", #","group":"g","app":"\#(number < 3 ? "mail" : "chat")""#)
        }
        try publish("other", #","group":"h""#)
        let start = try client.changes(of: "anna", since: "latest")
        let target = "/v1/users/anna/notifications"
        func delete(_ query: String) throws -> ResourceReplySeen {
            try calls.perform(ResourceCall(.delete, target + query, type: nil, device: "phone"))
        }
        #expect(try delete("?group=g&app=mail").text == #"{"deleted":3}"#)
        let told = try client.changes(of: "anna", since: start.next)
        #expect(told.words == ["deleted 0", "deleted 1", "deleted 2"])
        #expect(told.changes.allSatisfy { $0.device == "phone" })
        #expect(try delete("?group=g").text == #"{"deleted":297}"#)
        let again = try delete("?group=g")
        #expect(again.status == 200 && again.text == #"{"deleted":0}"#)
        let page = try client.changes(of: "anna", since: told.next, query: "&limit=1000")
        #expect(page.changes.count == 297)
        #expect(try daemon.request("GET", "/v1/notifications/other").status == 200)
    }
}
