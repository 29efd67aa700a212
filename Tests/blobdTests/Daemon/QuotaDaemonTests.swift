import BlobProtocol
import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

/// `--max-bytes`, `--max-notifications`, `--owner-max-bytes`, `--owner-max-notifications` and
/// `--min-free-disk`. Refusals one by one are in the table `quotas.txt`.
@Suite(.waiting) struct QuotaDaemonTests {
    private static func bytes(_ count: Int, _ seed: Int) -> [UInt8] {
        var random = SeededGenerator(seed: UInt64(seed))
        return random.bytes(count)
    }

    @Test("Sixteen publishers race: the sum is the limit, to the byte, and all that fits is stored")
    func race() throws {
        let daemon = try DaemonProcess([
            "--max-bytes", "300000", "--owner-max-notifications", "30",
        ])
        struct Seen: Sendable {
            var stored = 0
            var byteCount = 0
            var storedOfOwner: [Int: Int] = [:]
            var failures: [String] = []
        }
        let seen = Mutex(Seen())
        let group = DispatchGroup()
        for publisher in 0..<16 {
            DispatchQueue(label: "publisher \(publisher)").async(group: group) {
                do {
                    // Every second one in the binary protocol. Bytes that no two have alike.
                    let speaker = try Speaker(daemon, isBinary: publisher % 2 == 1)
                    let owner = publisher % 4
                    for number in 0..<60 {
                        let count = 1_000 + (publisher * 61 + number * 37) % 4_000
                        let body = Self.bytes(count, publisher * 1_000 + number)
                        speaker.client.send(
                            try speaker.putRequest(
                                "\(publisher)-\(number)", body, owner: owner == 3 ? "" : "o\(owner)"
                            ))
                        let answer = try speaker.answer()
                        let code = jsonMember(
                            String(decoding: answer.body, as: UTF8.self), "code")
                        seen.withLock {
                            switch answer.status {
                            case 201, 200:
                                $0.stored += 1
                                $0.byteCount += count
                                $0.storedOfOwner[owner, default: 0] += 1
                            case 507, 429:
                                if code != "quota_exceeded" { $0.failures.append("\(code ?? "")") }
                            default: $0.failures.append("\(answer.status)")
                            }
                        }
                    }
                } catch {
                    seen.withLock { $0.failures.append("\(error)") }
                }
            }
        }
        group.wait()
        let result = seen.withLock { $0 }
        #expect(result.failures == [])
        #expect(try daemon.statistic("notifications") == result.stored)
        let stored = try daemon.statistic("bytes_stored")
        // Nothing that fits is left out: at the end not even one of the longest, 5,000 bytes, would fit.
        #expect(stored == result.byteCount && stored > 295_000 && stored <= 300_000)
        for owner in 0..<3 { #expect(result.storedOfOwner[owner] ?? 0 <= 30) }
        // The rest is taken to the byte.
        #expect(try daemon.put("last", Self.bytes(300_000 - stored, 99_999)).status == 201)
        #expect(try daemon.statistic("bytes_stored") == 300_000)
        #expect(try daemon.put("more", [1]).status == 507)
        #expect(daemon.stop() == 0)
        #expect(try blobd(["verify", "--data", daemon.dataPath]).status == 0)
    }
}
