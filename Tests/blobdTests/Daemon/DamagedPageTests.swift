import Glibc
import TestSupport
import Testing

/// Damage that a daemon's own work meets, while it runs and after a restart: it is named, and the work goes on.
@Suite(.waiting) struct DamagedPageTests {
    // Nobody has been sent anything: what an earlier run stored is freed at once.
    private static let fast = ["--sweep-interval", "20ms", "--zero-copy-grace", "0ms"]

    private static func bytes(_ number: Int) -> [UInt8] {
        SeededGenerator.bytes(300_000, seed: UInt64(number))
    }

    private static func count(of words: String, in log: String) -> Int {
        log.split(separator: "\n").count { $0.contains(words) }
    }

    /// One damaged header stopped freeing for good: a line each second, and the disk filled.
    @Test("A blob in a damaged page is named once and stepped over; the others are freed")
    func freeing() throws {
        let folder = TemporaryFolder()
        let data = "\(folder)/data/data.mdb"
        do {
            let daemon = try DaemonProcess(Self.fast, in: folder)
            for number in 0..<8 {
                #expect(try daemon.put("n\(number)", Self.bytes(number)).status == 201)
            }
            try daemon.waitUntil("log_batches") { $0 == 0 }
            try Files.damageHeader(ofPageWith: Self.bytes(1)[..<32], .number, bit: 2, in: data)
            for number in 0..<4 {
                #expect(
                    try daemon.request("DELETE", "/v1/notifications/n\(number)").status == 204)
            }
            try daemon.waitUntil("orphan_blobs") { $0 == 1 }
            try daemon.waitForLog("and steps over it")
            let metrics = try daemon.request("GET", "/metrics").text
            #expect(metrics.contains("blobd_corrupt_chunks_total 1\n"))
            #expect(daemon.stop() == 0)
            #expect(Self.count(of: "and steps over it", in: daemon.log) == 1, "\(daemon.log)")
        }
        let daemon = try DaemonProcess(Self.fast, in: folder)
        for number in 4..<6 {
            #expect(try daemon.request("DELETE", "/v1/notifications/n\(number)").status == 204)
        }
        #expect(try daemon.put("new", Self.bytes(9)).status == 201)
        try daemon.waitUntil("orphan_blobs") { $0 == 1 }
        try daemon.wait(for: "it is not named again") {
            Self.count(of: "and steps over it", in: $0.log) == 2
        }
        for (id, number) in [("n6", 6), ("n7", 7), ("new", 9)] {
            let answer = try daemon.request("GET", "/v1/notifications/\(id)/payload")
            #expect(answer.body == Self.bytes(number))
        }
        #expect(daemon.stop() == 0)
        #expect(Self.count(of: "and steps over it", in: daemon.log) == 2, "once in each run")
        #expect(!daemon.log.contains("Cannot free blobs"), "\(daemon.log)")
    }
}
