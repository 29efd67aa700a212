import Testing

@testable import BlobServer

/// Readers were once allowed 4 KiB/s, and given a minute for the MiB that their sockets hold when the
/// daemon ends: who took longer read on in pages that were another payload's by then.
@Suite struct ZeroCopyGraceTests {
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
