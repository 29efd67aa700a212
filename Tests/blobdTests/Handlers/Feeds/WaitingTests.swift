import BlobJSON
import BlobProtocol
import Glibc
import Testing

/// Waiting for an owner's changes: who is woken by what, and what ends a wait.
@Suite(.waiting) struct WaitingTests {
    @Test("Two devices wait and hear of what a third hears of later, each once")
    func devices() throws {
        let daemon = try DaemonProcess()
        try daemon.publish("42", #"{"owner":"anna","message":"Dinner?"}"#)
        let devices = try (0..<3).map { _ in try daemon.connect() }
        var places: [String] = []
        for device in devices {
            let page = try device.changes(of: "anna", since: "0")
            #expect(page.words == ["published 42"] && !page.hasMore)
            places.append(page.next)
        }
        for (device, place) in zip(devices, places).prefix(2) {
            device.sendChanges(of: "anna", since: place, query: "&wait=60")
        }
        try daemon.waitUntil("watchers") { $0 == 2 }
        #expect(try daemon.statistic("feed_wakes") == 0)
        let patched = try daemon.patch("42", #"{"action_state":"dismissed"}"#, device: "phone")
        #expect(patched.status == 200)
        for device in devices.prefix(2) {
            let page = try device.page()
            #expect(page.words == ["updated 42"])
            #expect(page.changes[0].device == "phone")
            #expect(page.changes[0].notification?["action_state"]?.text == "dismissed")
            // Everything has been told: what is waited for now is the next.
            #expect(try device.changes(of: "anna", since: page.next).words == [])
        }
        let late = try devices[2].changes(of: "anna", since: places[2], query: "&wait=60")
        #expect(late.words == ["updated 42"])
        #expect(try devices[2].changes(of: "anna", since: late.next).words == [])
        #expect(try daemon.statistic("feed_wakes") == 2)
        #expect(try daemon.statistic("watchers") == 0)
    }

    @Test("What is there is answered at once; a wait that is over is answered with nothing")
    func over() throws {
        let daemon = try DaemonProcess()
        let client = try daemon.connect()
        let empty = try client.changes(of: "anna", since: "0", query: "&wait=1")
        #expect(empty.words == [] && !empty.hasMore)
        try daemon.put("1", [1], query: "?owner=anna")
        #expect(
            try client.changes(of: "anna", since: empty.next, query: "&wait=60").words
                == ["published 1"])
        let latest = try client.changes(of: "anna", since: "latest", query: "&wait=0")
        #expect(latest.words == [])
        try daemon.put("2", [2], query: "?owner=anna")
        #expect(
            try client.changes(of: "anna", since: latest.next, query: "&wait=60").words
                == ["published 2"])
    }

    @Test("An expiry that nobody asked for wakes, and so do a deletion and an account's end")
    func endings() throws {
        let daemon = try DaemonProcess(["--sweep-interval", "20ms"])
        for (id, query) in [("1", "&ttl=1"), ("2", ""), ("3", "")] {
            try daemon.put(id, [1], query: "?owner=anna\(query)")
        }
        let client = try daemon.connect()
        let start = try client.changes(of: "anna", since: "0")
        let expired = try client.changes(of: "anna", since: start.next, query: "&wait=60")
        #expect(expired.words == ["expired 1"] && expired.changes[0].notification == nil)
        client.sendChanges(of: "anna", since: expired.next, query: "&wait=60")
        try daemon.waitUntil("watchers") { $0 == 1 }
        #expect(try daemon.request("DELETE", "/v1/notifications/2").status == 204)
        let deleted = try client.page()
        #expect(deleted.words == ["deleted 2"])
        client.sendChanges(of: "anna", since: deleted.next, query: "&wait=60")
        try daemon.waitUntil("watchers") { $0 == 1 }
        #expect(try daemon.request("DELETE", "/v1/users/anna").status == 200)
        let answer = try client.answer()
        #expect(answer.status == 410 && answer.code == "resync")
        #expect(answer.member("history") == "/v1/users/anna/notifications")
    }

    @Test("Requests behind a wait are answered after it, in both dialects")
    func pipelined() throws {
        let daemon = try DaemonProcess()
        let texts = try daemon.waiter(of: "anna")
        texts.sendRequest("GET", "/v1/notifications/1/payload")
        let frames = try daemon.connectBinary()
        let target = "/v1/users/anna/changes?since=latest&wait=60"
        frames.send(try callFrame(.get, target, requestID: 1) + getFrame("1", requestID: 2))
        try daemon.waitUntil("watchers") { $0 == 2 }
        texts.sendRequest("GET", "/healthz")
        try daemon.put("1", [7], query: "?owner=anna")
        #expect(try texts.page().words == ["published 1"])
        #expect(try texts.answer().body == [7])
        #expect(try texts.answer().text == "ok\n")
        let page = try frames.frameAnswer()
        #expect(page.status == 200 && page.frame.requestID == 1)
        #expect(try SeenPage(page.body).words == ["published 1"])
        let response = try Call.Response.parse(page.head.span.bytes)
        #expect(response.revision == 0 && response.location.isEmpty)
        let payload = try frames.frameAnswer()
        #expect(payload.body == [7] && payload.frame.requestID == 2)
    }

    @Test("A closed connection waits no more; one that only stops sending still gets the answer")
    func leaving() throws {
        let daemon = try DaemonProcess()
        do {
            let waiters = try (0..<20).map { number in try daemon.waiter(of: "anna") }
            try daemon.waitUntil("watchers") { $0 == waiters.count }
        }
        try daemon.waitUntil("watchers") { $0 == 0 }
        // Gone before the request is looked at.
        daemon.signal(SIGSTOP)
        for _ in 0..<5 {
            _ = try daemon.waiter(of: "anna")
        }
        daemon.signal(SIGCONT)
        try daemon.waitUntil("watchers") { $0 == 0 }
        try daemon.waitUntil("connections") { $0 == 1 }
        let half = try daemon.waiter(of: "anna")
        try daemon.waitUntil("watchers") { $0 == 1 }
        half.endSending()
        try daemon.put("1", [1], query: "?owner=anna")
        #expect(try half.page().words == ["published 1"])
        #expect(try half.isClosed())
    }

    @Test("A stop answers those who wait, and does not wait for them")
    func stop() throws {
        let daemon = try DaemonProcess(["--drain-timeout", "1h"])
        let texts = try daemon.waiter(of: "anna")
        let frames = try daemon.connectBinary()
        frames.send(try callFrame(.get, "/v1/users/anna/changes?since=latest&wait=60"))
        try daemon.waitUntil("watchers") { $0 == 2 }
        #expect(daemon.stop() == 0)
        let answer = try texts.answer()
        #expect(answer.status == 200 && answer["Connection"] == "close")
        #expect(try SeenPage(answer.body).words == [])
        #expect(try SeenPage(frames.frameAnswer().body).words == [])
        #expect(try texts.isClosed() && frames.isClosed())
    }

    @Test("There are so many places for waiters, and one that is given up can be taken")
    func places() throws {
        let daemon = try DaemonProcess(["--max-watchers", "2"])
        let waiters = try (0..<2).map { _ in try daemon.waiter(of: "anna") }
        try daemon.waitUntil("watchers") { $0 == 2 }
        let third = try daemon.waiter(of: "bert")
        let refusal = try third.answer()
        #expect(refusal.status == 429 && refusal.code == "too_many_requests")
        #expect(refusal.member("limit") == "2")
        // Who need not wait needs no place.
        #expect(try third.changes(of: "bert", since: "0").words == [])
        let stream = try daemon.connect()
        stream.sendRequest(
            "GET", "/v1/users/bert/changes", ["Accept": "text/event-stream"])
        #expect(try stream.answer().status == 429)
        #expect(try stream.isClosed())
        try daemon.put("1", [1], query: "?owner=anna")
        for waiter in waiters { #expect(try waiter.page().words == ["published 1"]) }
        third.sendChanges(of: "bert", since: "latest", query: "&wait=60")
        try daemon.waitUntil("watchers") { $0 == 1 }
        try daemon.put("2", [2], query: "?owner=bert")
        #expect(try third.page().words == ["published 2"])
    }

    /// Through a hole in a front, sixty streams of strangers took sixty watchers' places.
    @Test("An owner's watchers and a peer's are limited, however they wait")
    func shares() throws {
        let daemon = try DaemonProcess([
            "--max-watchers", "8", "--max-watchers-per-owner", "2", "--max-watchers-per-peer", "3",
        ])
        func words(_ body: String) -> String {
            "\(jsonMember(body, "code") ?? "") \(jsonMember(body, "limit_name") ?? "")"
        }
        func refusal(of owner: String) throws -> [String] {
            let wait = try daemon.waiter(of: owner)
            let answer = try wait.answer()
            let stream = try daemon.connect()
            stream.sendRequest(
                "GET", "/v1/users/\(owner)/changes", ["Accept": "text/event-stream"])
            let refused = try stream.answer()
            let binary = try daemon.connectBinary()
            let watch = try binary.exchange(try watchFrame(owner, since: "latest"))
            let call = try daemon.connectBinary().exchange(
                try callFrame(.get, "/v1/users/\(owner)/changes?since=latest&wait=60"))
            #expect(answer.status == 429 && refused.status == 429)
            #expect(watch.status == 429 && call.status == 429)
            return [answer.text, refused.text, watch.text, call.text].map(words)
        }
        var waiters = [try daemon.waiter(of: "anna"), try daemon.waiter(of: "anna")]
        try daemon.waitUntil("watchers") { $0 == 2 }
        let ofOwner = "too_many_requests max-watchers-per-owner"
        #expect(try refusal(of: "anna") == [String](repeating: ofOwner, count: 4))
        waiters.append(try daemon.waiter(of: "bert"))
        try daemon.waitUntil("watchers") { $0 == 3 }
        let ofPeer = "too_many_requests max-watchers-per-peer"
        #expect(try refusal(of: "carl") == [String](repeating: ofPeer, count: 4))
        // Who goes leaves room.
        waiters.removeFirst()
        try daemon.waitUntil("watchers") { $0 == 2 }
        waiters.append(try daemon.waiter(of: "carl"))
        try daemon.waitUntil("watchers") { $0 == 3 }
    }

    @Test("A peer leaves a quarter of the places to others without being told to")
    func defaults() throws {
        let daemon = try DaemonProcess(["--max-watchers", "4"])
        let waiters = try (0..<3).map { number in try daemon.waiter(of: "owner\(number)") }
        try daemon.waitUntil("watchers") { $0 == waiters.count }
        let fourth = try daemon.waiter(of: "anna")
        let refusal = try fourth.answer()
        #expect(refusal.status == 429 && refusal.member("limit_name") == "max-watchers-per-peer")
        #expect(refusal.member("limit") == "3")
    }
}
