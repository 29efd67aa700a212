import BlobJSON
import Glibc
import TestSupport
import Testing

/// An owner's changes as a stream of events, as browsers read them.
@Suite(.waiting) struct EventStreamTests {
    @Test("A stream tells what is there and what comes, and goes on behind the last event's id")
    func resumed() throws {
        let daemon = try DaemonProcess()
        try daemon.put("1", [1], query: "?owner=anna")
        try daemon.put("2", [2], query: "?owner=anna")
        var last = ""
        do {
            let stream = try daemon.connect()
            let head = try stream.beginEvents(of: "anna", since: "0")
            #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
            for field in [
                "Content-Type: text/event-stream", "Cache-Control: no-store",
                "X-Accel-Buffering: no", "Connection: close",
            ] {
                #expect(head.contains("\r\n\(field)\r\n"))
            }
            #expect(!head.contains("Content-Length"))
            #expect(try stream.change().words == "published 1")
            let second = try stream.change()
            #expect(second.words == "published 2")
            #expect(second.notification?["id"]?.text == "2")
            try daemon.waitUntil("watchers") { $0 == 1 }
            try daemon.put("of-another", [3], query: "?owner=bert")
            #expect(try daemon.request("DELETE", "/v1/notifications/1").status == 204)
            let gone = try stream.change()
            #expect(gone.words == "deleted 1" && gone.notification == nil)
            last = second.cursor
        }
        try daemon.waitUntil("watchers") { $0 == 0 }
        // The last id goes before `since`.
        let stream = try daemon.connect()
        _ = try stream.beginEvents(of: "anna", since: "0", ["Last-Event-ID": last])
        #expect(try stream.change().words == "deleted 1")
        try daemon.put("3", [3], query: "?owner=anna")
        #expect(try stream.change().words == "published 3")
    }

    @Test("A quiet stream gives signs of life, whose id is a place to go on from")
    func quiet() throws {
        let daemon = try DaemonProcess(["--heartbeat", "10ms"])
        let stream = try daemon.connect()
        _ = try stream.beginEvents(of: "anna", since: "latest")
        let first = try stream.event()
        #expect(first.name == nil && first.data == nil)
        try daemon.put("of-another", [1], query: "?owner=bert")
        // What concerned others moves the place, too.
        var later = first
        let patience = Patience()
        while later.id == first.id {
            later = try stream.event()
            #expect(later.id != nil && later.data == nil)
            try patience.wait(orThrow: "the id stays the same")
        }
        try daemon.put("1", [1], query: "?owner=anna")
        #expect(try stream.change().words == "published 1")
        let client = try daemon.connect()
        let place = try #require(later.id)
        #expect(try client.changes(of: "anna", since: place).words == ["published 1"])
    }

    @Test("Who reads slowly gets later states, not a queue, and misses none of them")
    func slow() throws {
        let daemon = try DaemonProcess()
        let ids = (0..<40).map { "n\($0)" }
        for id in ids { try daemon.put(id, [1], query: "?owner=anna") }
        let stream = try daemon.connect()
        _ = try stream.beginEvents(of: "anna", since: "latest")
        try daemon.waitUntil("watchers") { $0 == 1 }
        let client = try daemon.connect()
        let message = String(repeating: "m", count: 4_000)
        let count = 600
        for round in 0..<count {
            let answer = try client.put(
                ids[round % ids.count], [UInt8(round & 255)], query: "?message=\(message)\(round)")
            #expect(answer.status == 200)
        }
        var revisions: [Int64] = []
        var latest: [String: String] = [:]
        while latest[ids[(count - 1) % ids.count]]?.hasSuffix("m\(count - 1)") != true {
            let change = try stream.change()
            revisions.append(change.revision)
            latest[change.id] = change.notification?["message"]?.text
        }
        #expect(revisions.count < count, "everything that happened was queued")
        #expect(revisions == Array(Set(revisions)).sorted())
        for (number, id) in ids.enumerated() {
            #expect(latest[id] == "\(message)\(count - ids.count + number)")
        }
    }

    @Test("A stop ends the streams without a word, and is not held up by them")
    func stop() throws {
        let daemon = try DaemonProcess(["--drain-timeout", "1h"])
        let stream = try daemon.connect()
        _ = try stream.beginEvents(of: "anna", since: "latest")
        #expect(try stream.event().id != nil)
        #expect(daemon.stop() == 0)
        #expect(try stream.isClosed())
    }

    @Test("A place that is older than the tombstones is told where to read anew")
    func resync() throws {
        let daemon = try DaemonProcess(["--tombstone-retention", "1ms", "--sweep-interval", "10ms"])
        try daemon.put("1", [1], query: "?owner=anna")
        let place = try daemon.connect().changes(of: "anna", since: "0").next
        #expect(try daemon.request("DELETE", "/v1/notifications/1").status == 204)
        try daemon.waitUntil("tombstones") { $0 == 0 }
        let stream = try daemon.connect()
        stream.sendRequest(
            "GET", "/v1/users/anna/changes",
            ["Accept": "text/event-stream", "Last-Event-ID": place])
        let answer = try stream.answer()
        #expect(answer.status == 410 && answer.code == "resync")
        #expect(answer.member("history") == "/v1/users/anna/notifications")
        #expect(try stream.isClosed())
    }

    @Test("A stream in whose middle the account ends says so, and ends")
    func resyncLater() throws {
        let daemon = try DaemonProcess()
        try daemon.put("1", [1], query: "?owner=anna")
        let stream = try daemon.connect()
        _ = try stream.beginEvents(of: "anna", since: "0")
        #expect(try stream.change().words == "published 1")
        try daemon.waitUntil("watchers") { $0 == 1 }
        #expect(try daemon.request("DELETE", "/v1/users/anna").status == 200)
        let event = try stream.event()
        #expect(event.name == "resync")
        #expect(jsonMember(event.data ?? "", "code") == "resync")
        #expect(jsonMember(event.data ?? "", "history") == "/v1/users/anna/notifications")
        #expect(try stream.isClosed())
        try daemon.waitUntil("watchers") { $0 == 0 }
    }
}
