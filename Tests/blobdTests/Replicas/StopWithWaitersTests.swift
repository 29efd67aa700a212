import Glibc
import TestSupport
import Testing

/// Requests that wait for the bucket when the daemon stops: they have the time of the drain, and then a refusal.
@Suite(.waiting, .enabled(if: ObjectServer.hasMoto, "moto cannot be installed"))
struct StopWithWaitersTests {
    private func sendReplicated(_ client: RawClient) {
        client.sendRequest(
            "PUT", "/v1/notifications/new/payload",
            ["Content-Type": "text/plain", "Blobd-Ack": "replicated"], body: Array("new".utf8))
    }

    // They were closed without an answer.
    @Test("Where the bucket does not answer, they get 503 at the end of the drain")
    func refused() throws {
        let shard = try ProxiedShard()
        let leader = try shard.leader(in: nil, "--local-bytes", "0", "--drain-timeout", "1s")
        try leader.put("long", SeededGenerator.bytes(200_000))
        try leader.wait(for: "not evicted") {
            try $0.request("GET", "/metrics").text.contains("blobd_evictions_total 1\n")
        }
        shard.fail { $0.isForBlob || $0.isSegment("PUT") ? [.hold] : nil }
        let (changing, reading) = (try leader.connect(), try leader.connect())
        sendReplicated(changing)
        try leader.wait(for: "it does not wait") { try $0.has("new") }
        reading.sendRequest("GET", "/v1/notifications/long/payload")
        try leader.wait(for: "it does not fetch") { _ in shard.blobGets > 0 }
        leader.signal(SIGTERM)
        for client in [reading, changing] {
            let answer = try client.answer()
            // A read waits ten seconds at most, which a busy machine may take until the stop.
            let isLate = client === reading && answer.code == "unavailable"
            #expect(answer.status == 503 && (answer.code == "stopping" || isLate), "\(answer.text)")
            #expect(try client.isClosed())
        }
        #expect(leader.wait() == 0)
    }

    @Test("Where the bucket answers before the end of the drain, they succeed")
    func inTime() throws {
        let shard = try ProxiedShard()
        let leader = try shard.leader(in: nil, "--drain-timeout", "1h")
        try leader.wait(for: "no first change") { try $0.publish("first").status < 300 }
        shard.fail { $0.isSegment("PUT") ? [.error(500, "InternalError")] : nil }
        let client = try leader.connect()
        sendReplicated(client)
        try leader.wait(for: "it does not wait") { try $0.has("new") }
        leader.signal(SIGTERM)
        try leader.waitForLog("Stopping on signal")
        shard.mend()
        #expect(try client.answer().status == 201)
        #expect(leader.wait() == 0)
    }
}
