import Testing

@testable import BlobServer
@testable import blobd

/// A worker looks for the next request before it sleeps, as long as that is worth while.
@Suite struct IdleSpinTests {
    private func check(_ spin: inout IdleSpin, _ expected: Bool) {
        #expect(spin.begins() == expected)
    }

    @Test("Failures make tries ever rarer, up to one in 1,025 waits; a success makes each count")
    func rarer() {
        var spin = IdleSpin(microseconds: 50)
        for skipped in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_024] {
            check(&spin, true)
            spin.failed()
            for _ in 0..<skipped { check(&spin, false) }
        }
        check(&spin, true)
        spin.succeeded()
        check(&spin, true)
        spin.failed()
        check(&spin, false)
        check(&spin, true)
    }

    @Test("Without a time it never tries")
    func off() {
        var spin = IdleSpin(microseconds: 0)
        check(&spin, false)
    }
}
