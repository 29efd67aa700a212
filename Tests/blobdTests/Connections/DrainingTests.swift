import TestSupport
import Testing

@testable import BlobServer
@testable import blobd

/// Connections that have ended while their peers have not read what they were sent without a copy.
@Suite(.waiting) struct DrainingTests {
    private var random = SeededGenerator(seed: 41)

    /// Copies take the kernel's memory, pages of the file none: with room for as much, each of
    /// thousands of clients that do not read held a MiB.
    @Test("The socket of a client that is sent copies holds less than one that is sent pages")
    mutating func held() throws {
        let daemon = try DaemonProcess.impatient(
            ["--workers", "1", "--rate-window", "300ms", "--min-rate", "1MiB"],
            with: random.bytes(2_000_000), shell: "ulimit -n 128;")
        let clients = try (0..<8).map { _ in try daemon.connectBinary() }
        for client in clients { client.send(try getFrame("big")) }
        try daemon.waitUntil("draining") { $0 == 4 }
        try daemon.waitUntil("connections") { $0 == 1 }
        let counts = try clients.map { try $0.receiveAll().count }.sorted()
        #expect(counts[0] > 0 && 2 * counts[3] < counts[4], "\(counts)")
    }

    @Test("A slot is one of the peer's part, and one of all")
    func slots() {
        let slots = DrainSlots(countMax: 6)
        let peers = (0..<3).map { Peer(userID: UInt32($0)) }
        for _ in 0..<3 { #expect(slots.take(for: peers[0])) }
        #expect(!slots.take(for: peers[0]))
        for _ in 0..<2 { #expect(slots.take(for: peers[1])) }
        #expect(slots.take(for: peers[2]) && !slots.take(for: peers[2]))
        #expect(slots.takenCount == 6 && peers[2].drainSlotCount.now == 1)
        slots.release(for: peers[0])
        #expect(slots.take(for: peers[1]) && !slots.take(for: peers[1]))
        for _ in 0..<2 { slots.release(for: peers[0]) }
        for _ in 0..<3 { slots.release(for: peers[1]) }
        slots.release(for: peers[2])
        #expect(slots.takenCount == 0)
    }

    @Test(
        "Descriptors are budgeted for connections, files and draining, and never more than there are"
    )
    func descriptors() {
        let many = DescriptorBudget(
            descriptorMax: 1 << 20, connectionCountMax: 8_192, workerCount: 2)
        #expect(many.connectionCountMax == 8_192)
        #expect(many.spoolCountMax == DescriptorBudget.spoolCountCap)
        #expect(many.drainingCountMax == DescriptorBudget.drainingCountCap)
        for descriptorMax in [1, 64, 100, 128, 256, 1_024, 4_096, 10_000, 20_000] {
            for wanted in [1, 5, 1_000, 8_192] {
                let budget = DescriptorBudget(
                    descriptorMax: descriptorMax, connectionCountMax: wanted, workerCount: 2)
                #expect(budget.connectionCountMax >= 1 && budget.connectionCountMax <= wanted)
                #expect(budget.spoolCountMax >= 1 && budget.drainingCountMax >= 1)
                let sum =
                    budget.connectionCountMax + budget.spoolCountMax + budget.drainingCountMax
                #expect(sum <= max(8, descriptorMax - DescriptorBudget.reserve))
            }
        }
    }
}
