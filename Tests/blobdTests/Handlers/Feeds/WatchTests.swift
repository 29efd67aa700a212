import BlobJSON
import BlobProtocol
import Bytes
import Glibc
import TestSupport
import Testing

/// An owner's changes as frames.
@Suite(.waiting) struct WatchTests {
    /// The next answer to a watch.
    private func next(_ client: RawClient) throws -> (page: SeenPage, head: Watch.Response) {
        let answer = try client.frameAnswer()
        guard answer.status == 200 else { throw TestFailure("\(answer.status) \(answer.text)") }
        let head = try Watch.Response.parse(answer.head.span.bytes)
        let page = try SeenPage(answer.body)
        #expect(answer.frame.opcode == Opcode.watch.rawValue && answer.frame.requestID == 9)
        #expect(head.changeCount == page.changes.count && head.hasMore == page.hasMore)
        let cursor = head.next.of(answer.head.span.bytes).text()
        #expect(cursor == page.next)
        return (page, head)
    }

    @Test("A watch tells what is there, at once, and what comes")
    func told() throws {
        let daemon = try DaemonProcess()
        for number in 0..<5 { try daemon.put("\(number)", [1], query: "?owner=anna") }
        let client = try daemon.connectBinary()
        // What is behind it is not read.
        client.send(try watchFrame("anna", since: "0", limit: 2, requestID: 9) + getFrame("0"))
        #expect(try next(client).page.words == ["published 0", "published 1"])
        #expect(try next(client).page.words == ["published 2", "published 3"])
        let last = try next(client).page
        #expect(last.words == ["published 4"] && !last.hasMore)
        try daemon.waitUntil("watchers") { $0 == 1 }
        try daemon.patch("3", #"{"read":true}"#, device: "tv")
        let updated = try next(client).page
        #expect(updated.words == ["updated 3"] && updated.changes[0].device == "tv")
        let other = try daemon.connectBinary()
        other.send(try watchFrame("anna", since: last.next, requestID: 9))
        #expect(try next(other).page.words == ["updated 3"])
        let empty = try daemon.connectBinary()
        empty.send(try watchFrame("anna", since: "latest", requestID: 9))
        #expect(try next(empty).page.words == [])
    }

    @Test("A quiet watch gives signs of life; its end is the connection's")
    func quiet() throws {
        let daemon = try DaemonProcess(["--heartbeat", "10ms"])
        do {
            let client = try daemon.connectBinary()
            client.send(try watchFrame("anna", since: "0", requestID: 9))
            for _ in 0..<3 { #expect(try next(client).page.words == []) }
            #expect(try daemon.statistic("watchers") == 1)
        }
        try daemon.waitUntil("watchers") { $0 == 0 }
    }

    @Test("A watch ends with the reason: a stop, or a place that is too old")
    func endings() throws {
        let daemon = try DaemonProcess()
        try daemon.put("1", [1], query: "?owner=anna")
        let client = try daemon.connectBinary()
        client.send(try watchFrame("anna", since: "0", requestID: 9))
        #expect(try next(client).page.words == ["published 1"])
        let other = try daemon.connectBinary()
        other.send(try watchFrame("bert", since: "0", requestID: 9))
        #expect(try next(other).page.words == [])
        try daemon.waitUntil("watchers") { $0 == 2 }
        #expect(try daemon.request("DELETE", "/v1/users/anna").status == 200)
        let resync = try client.frameAnswer()
        #expect(resync.status == 410 && resync.code == "resync" && resync.frame.requestID == 9)
        #expect(try client.isClosed())
        #expect(daemon.stop() == 0)
        let stopping = try other.frameAnswer()
        #expect(stopping.status == 503 && stopping.code == "stopping")
        #expect(try other.isClosed())
    }

    @Test("A watch that cannot be is refused, and the connection goes on")
    func refused() throws {
        let daemon = try DaemonProcess()
        try daemon.put("1", [1], query: "?owner=anna")
        let client = try daemon.connectBinary()
        let place = try daemon.connect().changes(of: "anna", since: "0").next
        #expect(try client.exchange(watchFrame("bert", since: place)).code == "bad_cursor")
        let changed = String(place.dropLast()) + (place.hasSuffix("A") ? "B" : "A")
        #expect(try client.exchange(watchFrame("anna", since: changed)).code == "bad_cursor")
        let wide = frame(.watch, head: [0xE9, 3, 1, 1, 0, 0, 0, 0] + Array("a0".utf8))
        #expect(try client.exchange(wide).code == "bad_limit")
        #expect(try client.exchange(getFrame("1")).body == [1])
    }
}
