import BlobProtocol
import TestSupport
import Testing

/// Ranges of what is stored compressed, by every way in.
@Suite(.waiting) struct GzipRangeTests {
    @Test("Ranges anywhere in a long text have the right bytes, in both dialects and all at once")
    func ranges() throws {
        let daemon = try DaemonProcess(["--workers", "1"])
        let seed = testSeed(8)
        var random = SeededGenerator(seed: seed)
        let text = random.bytes(5_300_000).map { 0x61 + $0 % 16 }
        let put = try daemon.put("text", text, type: "text/plain")
        #expect(put.text.contains("\"coding\":\"gzip\""))
        let positions =
            [0, 1_048_575, 1_048_576, 1_048_577, 3_145_728, 5_299_999]
            + random.bytes(30).map { Int($0) * 20_000 }
        let http = try daemon.connect()
        let binary = try daemon.connectBinary()
        for position in positions {
            let count = min(150_000, text.count - position)
            http.sendRequest(
                "GET", "/v1/notifications/text/payload",
                ["Range": "bytes=\(position)-\(position + count - 1)"])
            binary.send(
                try getFrame(
                    "text", range: WireRange(first: UInt64(position), count: UInt64(count))))
            let expected = Array(text[position..<position + count])
            let answer = try http.answer()
            #expect(answer.status == 206 && answer.body == expected, "seed \(seed), \(position)")
            let frame = try binary.frameAnswer()
            #expect(frame.status == 206 && frame.body == expected, "seed \(seed), \(position)")
        }
        // Several at once, which are inflated in slices, one connection's after another's.
        let clients = try (0..<8).map { _ in try daemon.connect() }
        for (index, client) in clients.enumerated() {
            client.sendRequest(
                "GET", "/v1/notifications/text/payload", ["Range": "bytes=\(index * 600_000)-"])
        }
        for (index, client) in clients.enumerated() {
            #expect(try client.answer().body == Array(text[(index * 600_000)...]))
        }
    }
}
