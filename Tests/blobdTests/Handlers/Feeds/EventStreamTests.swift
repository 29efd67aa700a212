import BlobJSON
import Glibc
import TestSupport
import Testing

/// Streams and watches over time; what they tell is in the table `feeds.txt`.
@Suite(.waiting) struct EventStreamTests {
    @Test("A quiet stream gives signs of life, whose id is a place to go on from")
    func quiet() throws {
        let daemon = try DaemonProcess(["--heartbeat", "10ms"])
        let stream = try daemon.connect()
        try stream.beginEvents(of: "anna", since: "latest")
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
        do {
            // A watch has them, too, and one that is closed is none.
            let watch = try daemon.connectBinary()
            let follow = TestRequest("FOLLOW", "/v1/users/carl/changes?since=0")
            watch.send(try follow.bytes(in: .call))
            for _ in 0..<3 { #expect(try SeenPage(watch.frameAnswer().body).words == []) }
            #expect(try daemon.statistic("watchers") == 2)
        }
        try daemon.waitUntil("watchers") { $0 == 1 }
    }

    @Test("Who reads slowly gets later states, not a queue, and misses none of them")
    func slow() throws {
        let daemon = try DaemonProcess(["--min-rate", "0"])
        let ids = (0..<40).map { "n\($0)" }
        for id in ids { try daemon.put(id, [1], query: "?owner=anna") }
        let stream = try daemon.connect()
        try stream.beginEvents(of: "anna", since: "latest")
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
        // What its socket holds, and the last state of each.
        #expect(revisions.count < count / 3, "what happened was queued")
        #expect(revisions == Array(Set(revisions)).sorted())
        for (number, id) in ids.enumerated() {
            #expect(latest[id] == "\(message)\(count - ids.count + number)")
        }
    }
}
