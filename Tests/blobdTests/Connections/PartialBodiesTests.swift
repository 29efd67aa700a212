import BlobProtocol
import Glibc
import TestSupport
import Testing

/// Bodies of which only a part ever comes: what they hold is what they have sent, and not what
/// others need.
@Suite(.waiting) struct PartialBodiesTests {
    /// Eight batches of 8 MiB, fed 4 KiB now and then, had all memory for bodies reserved.
    @Test("Batches that come slowly hold what has come, and a long one waits for its end in a file")
    func batches() throws {
        let daemon = try DaemonProcess()
        let head =
            "POST /v1/notifications:batch HTTP/1.1\r\nHost: b\r\nContent-Type: application/x-ndjson\r\n"
        var slow: [RawClient] = []
        for _ in 0..<12 {
            let client = try daemon.connect()
            client.send("\(head)Content-Length: 8000000\r\n\r\n")
            client.send([UInt8](repeating: 0x20, count: 4_096))
            slow.append(client)
        }
        try daemon.waitUntil("body_memory_bytes") { $0 >= 12 * 4_096 }
        #expect(try daemon.statistic("body_memory_bytes") <= 12 * 8_192)
        #expect(try daemon.put("p", [1]).status == 201)
        let lines = (0..<900).map { number in
            "{\"id\":\"n\(number)\",\"message\":\"\(String(repeating: "m", count: 300))\"}\n"
        }.joined()
        let client = try daemon.connect()
        client.send("\(head)Content-Length: \(lines.utf8.count)\r\n\r\n")
        client.send(String(lines.prefix(200_000)))
        try daemon.waitUntil("body_spools") { $0 == 1 }
        client.send(String(lines.dropFirst(200_000)))
        #expect(try client.answer().status == 200)
        #expect(try daemon.request("GET", "/v1/notifications/n899").status == 200)
        try daemon.waitUntil("body_spools") { $0 == 0 }
        #expect(slow.count == 12)
    }

    private static let longHead =
        "Host: b\r\nContent-Type: image/png\r\nContent-Length: 400000\r\n\r\n"

    /// Starts long uploads until the daemon has no file left for another.
    private func takeFiles(_ daemon: DaemonProcess) throws -> [RawClient] {
        var holders: [RawClient] = []
        // An eighth of what 128 descriptors leave.
        while holders.count < 8 {
            let client = try daemon.connect()
            client.send(
                "PUT /v1/notifications/s\(holders.count)/payload HTTP/1.1\r\n\(Self.longHead)")
            client.send([UInt8](repeating: 7, count: 200_000))
            holders.append(client)
            let count = holders.count
            try daemon.waitUntil("body_spools") { $0 == count }
        }
        return holders
    }

    @Test("Who does not move gives way to who comes, and is told when to try again")
    func stalled() throws {
        let daemon = try DaemonProcess(["--workers", "1"], shell: "ulimit -n 128;")
        let holders = try takeFiles(daemon)
        var random = SeededGenerator(seed: 3)
        let body = random.bytes(400_000)
        #expect(try daemon.put("new", body).status == 201)
        #expect(try daemon.request("GET", "/v1/notifications/new/payload").body == body)
        let refused = holders.filter { $0.waitForInput(milliseconds: 0) }
        try #require(!refused.isEmpty && refused.count < holders.count)
        for holder in refused {
            let answer = try holder.answer()
            #expect(answer.status == 503 && answer.code == "unavailable")
            #expect(answer["Retry-After"] == "1" && answer.member("retry_after") == "1")
            #expect(try holder.isClosed())
        }
    }

    @Test("In the binary protocol the connection of a refused body goes on behind it")
    func binary() throws {
        let daemon = try DaemonProcess(["--workers", "1"], shell: "ulimit -n 128;")
        let stalled = try daemon.connectBinary()
        let frame = try putFrame(Put.Draft(id: "x"), body: .init(repeating: 7, count: 400_000))
        stalled.send(Array(frame.prefix(200_000)))
        try daemon.waitUntil("body_spools") { $0 == 1 }
        var others: [RawClient] = []
        let patience = Patience()
        while !stalled.waitForInput(milliseconds: 10) {
            try patience.wait(orThrow: "who does not move is not refused")
            // They continue, so that only the first does not move; a refused client tries again.
            let client = try daemon.connect()
            client.send("PUT /v1/notifications/o/payload HTTP/1.1\r\n\(Self.longHead)")
            client.send([UInt8](repeating: 7, count: 200_000))
            others.append(client)
            if others.count > 30 { others.removeFirst() }
        }
        let answer = try stalled.frameAnswer()
        #expect(answer.status == 503 && answer.code == "unavailable")
        #expect(jsonMember(answer.text, "retry_after") == "1")
        others = []
        stalled.send(Array(frame.dropFirst(200_000)))
        #expect(try stalled.exchange(putFrame(Put.Draft(id: "y"), body: [1])).status == 201)
    }

    @Test("A body that waits beside others that move is refused in the end, and GET never waits")
    func waiting() throws {
        // A busy machine may keep the test from moving one of them: then that one is refused.
        let patience = Patience()
        while try !isWaiterRefused() { try patience.wait(orThrow: "who moves is refused") }
    }

    /// Whether it was the waiter that was refused, and none of the others.
    private func isWaiterRefused() throws -> Bool {
        let daemon = try DaemonProcess(["--workers", "1"], shell: "ulimit -n 128;")
        var holders: [RawClient] = []
        let head = "Host: b\r\nContent-Type: image/png\r\nContent-Length: 60000000\r\n\r\n"
        for number in 0..<8 {
            let client = try daemon.connect()
            client.send("PUT /v1/notifications/s\(number)/payload HTTP/1.1\r\n\(head)")
            client.send([UInt8](repeating: 7, count: 200_000))
            holders.append(client)
            try daemon.waitUntil("body_spools") { $0 == number + 1 }
        }
        let waiter = try daemon.connect()
        waiter.send("PUT /v1/notifications/w/payload HTTP/1.1\r\n\(Self.longHead)")
        _ = waiter.sendWithoutWaiting(.init(repeating: 1, count: 150_000))
        let patience = Patience()
        while !waiter.waitForInput(milliseconds: 20) {
            for holder in holders {
                _ = holder.sendWithoutWaiting(.init(repeating: 7, count: 8_192))
                if holder.waitForInput(milliseconds: 0) { return false }
            }
            #expect(try daemon.request("GET", "/v1/notifications/none").status == 404)
            try patience.wait(orThrow: "the body that waits is not refused")
        }
        let answer = try waiter.answer()
        #expect(answer.status == 503 && answer["Retry-After"] == "1")
        return holders.allSatisfy { !$0.waitForInput(milliseconds: 0) }
    }

    @Test("Bodies wait for memory, and all of them arrive")
    func bodyMemory() throws {
        let daemon = try DaemonProcess(["--body-memory", "256KiB"])
        let count = 12
        var random = SeededGenerator(seed: 6)
        let bodies = (0..<count).map { _ in random.bytes(400_000) }
        func begin(_ index: Int) throws -> RawClient {
            let client = try daemon.connect()
            client.send("PUT /v1/notifications/\(index)/payload HTTP/1.1\r\n\(Self.longHead)")
            return client
        }
        var clients = try (0..<count).map { try begin($0) }
        // Only so many are read; what the others send stays in the sockets.
        var sent = [Int](repeating: 0, count: count)
        var stored = [Bool](repeating: false, count: count)
        let patience = Patience()
        while stored.contains(false) {
            for index in 0..<count where !stored[index] {
                let piece = Array(bodies[index][sent[index]..<min(sent[index] + 65_536, 400_000)])
                sent[index] += clients[index].sendWithoutWaiting(piece)
                guard clients[index].waitForInput(milliseconds: 0) else { continue }
                let status = try clients[index].answer().status
                stored[index] = status == 201
                // One that a busy machine kept from moving, or from its turn, comes again.
                guard !stored[index] else { continue }
                #expect(status == 503)
                clients[index] = try begin(index)
                sent[index] = 0
            }
            #expect(try daemon.statistic("body_memory_bytes") <= 256 << 10)
            try patience.wait(orThrow: "bodies do not move")
        }
        for (index, body) in bodies.enumerated() {
            let path = "/v1/notifications/\(index)/payload"
            #expect(try daemon.request("GET", path).body == body)
        }
        try daemon.waitUntil("body_memory_bytes") { $0 == 0 }
    }
}
