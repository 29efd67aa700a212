import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// A daemon that ends may leave pages of its file with its peers.
@Suite(.waiting) struct ZeroCopyRestartTests {
    @Test("What an earlier run may have sent is not freed within the grace; what is new is")
    func grace() throws {
        let folder = TemporaryFolder()
        let sweep = ["--sweep-interval", "10ms"]
        var random = SeededGenerator(seed: 12)
        let first = try DaemonProcess(sweep, in: folder)
        #expect(try first.put("old", random.bytes(100_000)).status == 201)
        #expect(first.stop() == 0)

        let second = try DaemonProcess(sweep + ["--zero-copy-grace", "24h"], in: folder)
        #expect(try second.delete("old") == 204)
        for _ in 0..<5 {
            #expect(try second.put("new", random.bytes(100_000)).status == 201)
            #expect(try second.delete("new") == 204)
            try second.waitUntil("orphan_blobs") { $0 == 1 }
        }
        #expect(second.stop() == 0)

        let third = try DaemonProcess(sweep + ["--zero-copy-grace", "0ms"], in: folder)
        try third.waitUntil("orphan_blobs") { $0 == 0 }
    }
}

/// Readers were once allowed 4 KiB/s, and given a minute for the MiB that their sockets hold when the
/// daemon ends: who took longer read on in pages that were another payload's by then.
@Suite(.waiting) struct LendingGraceTests {
    @Test(
        "The slowest client that is allowed has the time to read all that its socket holds",
        arguments: [(4_096, 10_000), (1, 1_000), (100_000, 10_000), (1 << 20, 60_000)])
    func slowest(rateMin: Int, windowMilliseconds: Int) {
        var limits = DaemonLimits()
        limits.rateMin = rateMin
        limits.rateWindowMilliseconds = windowMilliseconds
        let heldByteCount = 2 * Int(Socket.widenedByteCount)
        let seconds = Double(limits.zeroCopyGraceMilliseconds - windowMilliseconds) / 1_000
        #expect(
            seconds * Double(max(rateMin, DaemonLimits.zeroCopyRateMin)) >= Double(heldByteCount)
                * 0.999)
        #expect(limits.zeroCopyGraceMilliseconds >= 60_000)
    }

    @Test("Without a least speed there is a grace all the same; a given one is taken as it is")
    func withoutRate() {
        var limits = DaemonLimits()
        #expect(limits.zeroCopyGraceMilliseconds == 266_000)
        limits.rateMin = 0
        #expect(limits.zeroCopyGraceMilliseconds == 1_034_000)
        limits.explicitZeroCopyGraceMilliseconds = 0
        #expect(limits.zeroCopyGraceMilliseconds == 0)
    }
}

extension DaemonProcess {
    fileprivate func delete(_ id: String) throws -> Int {
        try request("DELETE", "/v1/notifications/\(id)").status
    }
}
