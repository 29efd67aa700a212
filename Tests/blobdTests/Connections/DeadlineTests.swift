import BlobProtocol
import BlobStore
import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// What a client is given time for. Deadlines are set short, and the test waits for what follows
/// from them.
@Suite(.waiting) struct DeadlineTests {
    /// The time once began again with each byte, so that a head could be sent for ever.
    @Test("A head that comes byte by byte has the time of one head, over both dialects")
    func tricklingHead() throws {
        let daemon = try DaemonProcess(["--head-timeout", "500ms"])
        let text = Array("GET /healthz HTTP/1.1\r\nX: ".utf8)
        for (client, start) in [(try daemon.connect(), text), (try daemon.connectBinary(), [])] {
            client.send(start)
            // The first byte of a frame, then of its header or of a field without an end.
            let bytes = start.isEmpty ? try getFrame("a") : [UInt8](repeating: 0x78, count: 400)
            var sent = 0
            let patience = Patience()
            // Each byte comes well within the time; all of them would take many times as long.
            while !client.waitForInput(milliseconds: 50) {
                client.send([sent < bytes.count - 1 ? bytes[sent] : 0x78])
                sent += 1
                #expect(sent < 100, "it has had ten times as long")
                try patience.wait(orThrow: "nothing ended the head")
            }
        }
        try daemon.waitUntil("timeouts") { $0 == 2 }
    }

    @Test("An answer that is not read is aborted; its zero-copy pages are kept until they are read")
    func unreadAnswer() throws {
        var random = SeededGenerator(seed: 2)
        let body = random.bytes(3_000_000)
        let daemon = try DaemonProcess.impatient(
            ["--rate-window", "500ms", "--min-rate", "1MiB"], with: body)
        let client = try daemon.connectBinary()
        client.send(try getFrame("big"))
        try daemon.waitUntil("leases") { $0 == 1 }
        try daemon.waitUntil("timeouts") { $0 == 1 }
        #expect(try daemon.statistic("leases") == 1)
        // What the kernel had taken is still there; the rest never comes.
        #expect(try client.receiveAll().count < body.count)
        try daemon.waitUntil("leases") { $0 == 0 }
    }

    private func at(_ milliseconds: Int) -> Instant {
        Instant(nanoseconds: 0).after(milliseconds: milliseconds)
    }

    private func checkOver(
        _ deadline: inout Deadline, _ now: Instant, _ progress: Int, _ expected: Bool
    ) {
        #expect(deadline.isOver(now, DaemonLimits(), progress: progress) == expected)
    }

    @Test("Each kind of waiting has its end, ours has none")
    func kinds() {
        for (kind, milliseconds) in [
            (Deadline.Kind.idle, 75_000), (.head, 10_000), (.linger, 2_000),
        ] {
            var deadline = Deadline(now: at(0))
            deadline.wait(for: kind, now: at(0), progress: 0)
            checkOver(&deadline, at(milliseconds - 1), 0, false)
            checkOver(&deadline, at(milliseconds), 0, true)
        }
        var ours = Deadline(now: at(0))
        ours.wait(for: .ours, now: at(0), progress: 0)
        checkOver(&ours, at(1_000_000_000), 0, false)
    }

    @Test(
        "Waiting on for the same thing does not begin anew; a head that trickles in has one deadline"
    )
    func same() {
        var deadline = Deadline(now: at(0))
        deadline.wait(for: .head, now: at(0), progress: 0)
        deadline.wait(for: .head, now: at(9_000), progress: 0)
        checkOver(&deadline, at(10_000), 0, true)
    }

    @Test("A reader is known by whole buffers of the kernel: one half read is not held against it")
    func buffers() {
        var deadline = Deadline(now: at(0))
        deadline.wait(for: .answer, now: at(0), progress: 0)
        // At 4 KiB/s a chunk takes 16 s.
        checkOver(&deadline, at(10_000), 0, false)
        checkOver(&deadline, at(16_000), 65_516, false)
        checkOver(&deadline, at(26_000), 65_516, false)
        checkOver(&deadline, at(32_000), 65_516, false)
        checkOver(&deadline, at(32_001), 65_516, true)
    }

    @Test("A transfer goes on as long as each window moves enough")
    func windows() {
        var deadline = Deadline(now: at(0))
        deadline.wait(for: .body, now: at(0), progress: 1_000)
        checkOver(&deadline, at(10_000), 1_000 + 40_960, false)
        checkOver(&deadline, at(19_999), 1_000 + 40_960, false)
        // What an earlier window moved beyond its share does not count for this one.
        checkOver(&deadline, at(20_000), 1_000 + 40_960 + 40_959, true)
    }
}
