import BlobProtocol
import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// Twelve clients that asked for long lists and did not read took 693 MB of the daemon's memory, and
/// 194 MB stayed when they had gone.
@Suite struct UnreadResponseTests {
    /// The budget of the daemon under test, and what its one worker may hold beside it.
    private static let byteCountMax = 1 << 20
    private static let excessMax = DaemonLimits.answerMemoryExcessMax

    private let daemon: DaemonProcess
    private static let ids = (0..<60).map { "n\(100 + $0)" }

    init() throws {
        daemon = try DaemonProcess(["--workers", "1", "--answer-memory", "1MiB"])
        let text = String(repeating: "d", count: 16_000)
        for id in Self.ids {
            let document =
                #"{"owner":"anna","message":"\#(text.prefix(4_000))","data":"\#(text)"}"#
            guard try daemon.publish(id, document).status == 201 else {
                throw TestFailure("not published")
            }
        }
        try daemon.put("picture", [1, 2, 3])
    }

    /// A client that asks for many pages and reads nothing.
    private func stuck() throws -> RawClient {
        let client = try daemon.connectBinary()
        var head: [UInt8] = []
        try List.Request.compose(limit: 1_000, into: &head)
        let list = frame(.list, head: head)
        _ = client.sendWithoutWaiting([[UInt8]](repeating: list, count: 32).flatMap { $0 })
        return client
    }

    /// Reads the whole list, coming again when told to.
    private func readAll() throws -> [String] {
        let client = try daemon.connectBinary()
        let patience = Patience()
        var seen: [String] = []
        var after: String?
        repeat {
            var head: [UInt8] = []
            try List.Request.compose(limit: 1_000, after: after, into: &head)
            let page = try client.exchange(frame(.list, head: head))
            if page.status == 503 {
                try patience.check("the list stays unavailable")
                continue
            }
            #expect(page.status == 200)
            for piece in page.text.split(separator: "{\"id\":\"").dropFirst() {
                seen.append(String(piece.prefix { $0 != "\"" }))
            }
            let next = jsonMember(page.text, "next")
            after = next == "null" ? nil : next
            if after == nil { return seen.filter { $0.hasPrefix("n") } }
        } while true
    }

    @Test("Clients that do not read hold what they may; others read, publish and fetch meanwhile")
    func bounded() throws {
        var crowd: [RawClient] = []
        let patience = Patience()
        var refusal: HTTPAnswer?
        while refusal == nil {
            for _ in 0..<8 { crowd.append(try stuck()) }
            let held = try daemon.statistic("answer_memory_bytes")
            #expect(held <= Self.byteCountMax + Self.excessMax)
            let picture = try daemon.request("GET", "/v1/notifications/picture/payload")
            #expect(picture.body == [1, 2, 3])
            #expect(try daemon.put("other", [4]).status < 300)
            let page = try daemon.request("GET", "/v1/users/anna/notifications?limit=1000")
            #expect(page.status == 200 || page.status == 503)
            if page.status == 503 { refusal = page }
            try patience.check("the memory for answers is never used up")
        }
        #expect(refusal?.code == "unavailable" && refusal?["Retry-After"] == "1")
        // They read nothing, so they are ended, and everybody is served as before.
        try daemon.waitUntil("unread_ends") { $0 > 0 }
        #expect(try readAll() == Self.ids)
        crowd = []
        try daemon.waitUntil("answer_memory_bytes") { $0 == 0 }
        #expect(try readAll() == Self.ids)
    }

    @Test("While much is held pages are short, and a stream that is read loses nothing")
    func short() throws {
        let reader = try daemon.connect()
        _ = try reader.beginEvents(of: "anna", since: "latest")
        var crowd: [RawClient] = []
        let patience = Patience()
        while try daemon.statistic("answer_memory_bytes") < Self.byteCountMax / 2 {
            crowd.append(try stuck())
            try patience.check("nothing is held")
        }
        let page = try daemon.request("GET", "/v1/users/anna/changes?limit=1000")
        // Nobody asks for more meanwhile: what is held now was held when the page was made.
        let held = try daemon.statistic("answer_memory_bytes")
        if page.status == 200, held >= Self.byteCountMax / 2 {
            let few = try SeenPage(page.body)
            #expect(few.hasMore && few.changes.count <= 3)
        }
        for id in ["a", "b", "c"] { try daemon.publish(id, #"{"owner":"anna","message":"m"}"#) }
        #expect(try (0..<3).map { _ in try reader.change().id } == ["a", "b", "c"])
    }

    @Test("A worker's share has three levels, and memory goes back after a load")
    func levels() {
        let now = Instant.now
        let counters = WorkerCounters()
        let memory = AnswerMemory(byteCountMax: 40 << 20, workerCount: 2, counters: counters)
        #expect(
            memory.byteCountMax == 20 << 20 && !memory.isShort && !memory.takeShouldTrim(asOf: now))
        let whole = memory.pageByteCountMax
        memory.change(by: 10 << 20)
        #expect(memory.isShort && !memory.isUsedUp && memory.pageByteCountMax < whole)
        memory.change(by: 10 << 20)
        #expect(memory.isUsedUp && !memory.isExceeded && !memory.takeShouldTrim(asOf: now))
        memory.change(by: DaemonLimits.answerMemoryExcessMax)
        #expect(memory.isExceeded && counters.answerMemory.total == 22 << 20)
        memory.change(by: -(22 << 20))
        #expect(!memory.isShort && memory.pageByteCountMax == whole)
        #expect(memory.takeShouldTrim(asOf: now) && !memory.takeShouldTrim(asOf: now))
        #expect(counters.answerMemory.total == 0)
        // Not again at once.
        memory.change(by: 10 << 20)
        memory.change(by: -(10 << 20))
        #expect(!memory.takeShouldTrim(asOf: now))
        let later = now.after(milliseconds: DaemonLimits.trimPauseMilliseconds)
        #expect(memory.takeShouldTrim(asOf: later))
    }
}
