import Testing

@testable import blobd

/// The memory for bodies, as its connections see it.
@Suite struct BodyMemoryTests {
    private let inbox: WorkerInbox

    init() throws {
        inbox = try WorkerInbox()
    }

    private func address(_ slot: Int) -> ConnectionAddress {
        ConnectionAddress(inbox: inbox, token: ConnectionToken(slot: slot, generation: 1))
    }

    /// The slots that were granted memory since the last look; the reservations end with it.
    private func granted() -> [Int] {
        inbox.takeAll().compactMap { message in
            if case .memoryGranted = message.content { return message.token.slot }
            return nil
        }
    }

    @Test("What is given out is never more than there is")
    func bounded() {
        let memory = BodyMemory(byteCountMax: 100, bodyCountMax: 10)
        let first = memory.reserve(60, for: address(1))
        #expect(first != nil && memory.byteCountReserved == 60)
        #expect(memory.reserve(60, for: address(2)) == nil)
        #expect(memory.byteCountReserved == 60)
        withExtendedLifetime(first) {}
    }

    @Test("Who waits is served in turn, and the small do not overtake")
    func turns() {
        let memory = BodyMemory(byteCountMax: 100, bodyCountMax: 10)
        var first = memory.reserve(100, for: address(1))
        #expect(first != nil)
        #expect(memory.reserve(80, for: address(2)) == nil)
        #expect(memory.reserve(10, for: address(3)) == nil)
        #expect(memory.reserve(90, for: address(4)) == nil)
        first = nil
        // Looking ends what 2 and 3 were given, which lets 4 in.
        #expect(granted() == [2, 3])
        #expect(granted() == [4])
        #expect(memory.byteCountReserved == 0)
    }

    @Test("Who leaves the line is not waited for")
    func cancelled() {
        let memory = BodyMemory(byteCountMax: 100, bodyCountMax: 10)
        var first = memory.reserve(100, for: address(1))
        #expect(first != nil)
        #expect(memory.reserve(100, for: address(2)) == nil)
        #expect(memory.reserve(1, for: address(3)) == nil)
        memory.cancel(address(2))
        first = nil
        #expect(granted() == [3])
    }

    @Test("Bodies are counted too, since each may need descriptors")
    func counted() {
        let memory = BodyMemory(byteCountMax: 100, bodyCountMax: 1)
        var first = memory.reserve(1, for: address(1))
        #expect(first != nil)
        #expect(memory.reserve(1, for: address(2)) == nil)
        first = nil
        #expect(granted() == [2])
    }

    @Test("One with several files counts for several, and for no more than there may be")
    func several() {
        let memory = BodyMemory(byteCountMax: 100, bodyCountMax: 20)
        var first = memory.reserve(1, bodyCount: 16, for: address(1))
        #expect(first != nil)
        #expect(memory.reserve(1, bodyCount: 16, for: address(2)) == nil)
        #expect(memory.reserve(1, for: address(3)) == nil)
        first = nil
        #expect(granted() == [2, 3])
        var all = memory.reserve(1, bodyCount: 50, for: address(4))
        #expect(all != nil)
        #expect(memory.reserve(1, for: address(5)) == nil)
        all = nil
        #expect(granted() == [5])
    }

    @Test("A wish for more than there is gets all there is")
    func tooMuch() {
        let memory = BodyMemory(byteCountMax: 100, bodyCountMax: 10)
        let all = memory.reserve(500, for: address(1))
        #expect(all != nil && memory.byteCountReserved == 100)
        withExtendedLifetime(all) {}
    }
}
