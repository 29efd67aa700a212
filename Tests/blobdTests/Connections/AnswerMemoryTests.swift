import BlobStore
import Testing

@testable import BlobServer

/// A worker's share of the memory for answers. A crowd that reads nothing is in the scenario `unread`.
@Suite struct AnswerMemoryTests {
    @Test("A worker's share has three levels, and memory goes back after a load")
    func levels() {
        let now = Instant.now
        let counters = WorkerCounters()
        let memory = AnswerMemory(byteCountMax: 40 << 20, workerCount: 2, counters: counters)
        #expect(
            memory.byteCountMax == 20 << 20 && !memory.isShort && !memory.takeShouldTrim(asOf: now))
        let whole = memory.pageByteCountMax
        memory.change(by: 10 << 20)
        #expect(memory.isShort && !memory.isUsedUp && memory.pageByteCountMax < whole)
        memory.change(by: 10 << 20)
        #expect(memory.isUsedUp && !memory.isExceeded && !memory.takeShouldTrim(asOf: now))
        memory.change(by: AnswerMemory.excessMax)
        #expect(memory.isExceeded && counters.answerMemory.total == 22 << 20)
        memory.change(by: -(22 << 20))
        #expect(!memory.isShort && memory.pageByteCountMax == whole)
        #expect(memory.takeShouldTrim(asOf: now) && !memory.takeShouldTrim(asOf: now))
        #expect(counters.answerMemory.total == 0)
        // Not again at once.
        memory.change(by: 10 << 20)
        memory.change(by: -(10 << 20))
        #expect(!memory.takeShouldTrim(asOf: now))
        let later = now.after(milliseconds: AnswerMemory.trimPauseMilliseconds)
        #expect(memory.takeShouldTrim(asOf: later))
    }
}
