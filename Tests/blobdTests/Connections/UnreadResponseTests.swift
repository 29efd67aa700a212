import BlobProtocol
import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// Twelve clients that asked for long lists and did not read took 693 MB of the daemon's memory, and
/// 194 MB stayed when they had gone. Such a crowd is in the scenario `unread`.
@Suite(.waiting) struct UnreadResponseTests {
    /// The budget of the daemon under test.
    private static let byteCountMax = 1 << 20

    private let daemon: DaemonProcess

    init() throws {
        daemon = try DaemonProcess(["--workers", "1", "--answer-memory", "1MiB"])
        let text = String(repeating: "d", count: 16_000)
        for number in 0..<60 {
            let document =
                #"{"owner":"anna","message":"\#(text.prefix(4_000))","data":"\#(text)"}"#
            guard try daemon.publish("n\(100 + number)", document).status == 201 else {
                throw TestFailure("not published")
            }
        }
    }

    /// A client that asks for many pages and reads nothing.
    private func stuck() throws -> RawClient {
        let client = try daemon.connectBinary()
        let list = try callFrame(.get, "/v1/notifications?limit=1000")
        _ = client.sendWithoutWaiting([[UInt8]](repeating: list, count: 32).flatMap { $0 })
        return client
    }

    @Test("While much is held pages are short, and a stream that is read loses nothing")
    func short() throws {
        let reader = try daemon.connect()
        _ = try reader.beginEvents(of: "anna", since: "latest")
        var crowd: [RawClient] = []
        let patience = Patience()
        while try daemon.statistic("answer_memory_bytes") < Self.byteCountMax / 2 {
            crowd.append(try stuck())
            try patience.wait(orThrow: "nothing is held")
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
        memory.change(by: AnswerMemory.excessMax)
        #expect(memory.isExceeded && counters.answerMemory.total == 22 << 20)
        memory.change(by: -(22 << 20))
        #expect(!memory.isShort && memory.pageByteCountMax == whole)
        #expect(memory.takeShouldTrim(asOf: now) && !memory.takeShouldTrim(asOf: now))
        #expect(counters.answerMemory.total == 0)
        // Not again at once.
        memory.change(by: 10 << 20)
        memory.change(by: -(10 << 20))
        #expect(!memory.takeShouldTrim(asOf: now))
        let later = now.after(milliseconds: AnswerMemory.trimPauseMilliseconds)
        #expect(memory.takeShouldTrim(asOf: later))
    }
}
