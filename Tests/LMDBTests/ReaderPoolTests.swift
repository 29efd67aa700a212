import LMDB
import Synchronization
import TestSupport
import Testing

@Suite struct ReaderPoolTests {
    private let folder = TemporaryFolder()

    @Test("As many views as there may be are open at once; one more is refused, until one ends")
    func readersFull() throws {
        let environment = try folder.open(readerCountMax: 2)
        let first = try environment.beginRead()
        do {
            let second = try environment.beginRead()
            #expect(second.id == first.id)
            do {
                let third = try environment.beginRead()
                Issue.record("a third view of two was opened: \(third.id)")
            } catch {
                #expect(error.isReadersFull)
            }
        }
        let again = try environment.beginRead()
        #expect(again.id == first.id)
    }

    @Test("The oldest view is the one that was opened first, whichever ends before")
    func oldestViewed() throws {
        let environment = try folder.open()
        let table = try environment.makeTable()
        #expect(environment.readers.oldestViewed == .max)
        try environment.set("a", [1], in: table)
        do {
            let old = try environment.beginRead()
            try environment.set("a", [2], in: table)
            do {
                let new = try environment.beginRead()
                #expect(new.id > old.id)
                #expect(environment.readers.oldestViewed == old.id)
            }
            #expect(environment.readers.oldestViewed == old.id)
            // A slot that was given back does not count, though LMDB keeps it.
            let newest = try environment.beginRead()
            let id = newest.id
            end(old)
            #expect(environment.readers.oldestViewed == id)
        }
        #expect(environment.readers.oldestViewed == .max)
    }

    /// Values were once readable only as long as somebody else kept the environment: Swift may let
    /// go of it after its last use, and closing it unmaps the file under an open view.
    @Test("A view keeps its environment open")
    func viewKeepsEnvironment() throws {
        let value = [UInt8](repeating: 7, count: 100_000)
        do {
            var environment: Environment? = try folder.open()
            let table = try #require(try environment?.makeTable())
            try environment?.set("a", value, in: table)
            let view = try #require(environment).beginRead()
            environment = nil
            #expect(Environment.isOpen(folder.path))
            let read = try view.copy(of: "a", in: table)
            #expect(read == value)
        }
        #expect(!Environment.isOpen(folder.path))
        #expect(try !folder.open().isReadOnly)
    }

    private func end(_ view: consuming ReadTransaction) {}

    /// What several threads saw together.
    private final class Tally: Sendable {
        let opened = Atomic(0)
        let refused = Atomic(0)
        let wrong = Atomic(0)
        let isOver = Atomic(false)
    }

    /// More views are wanted than there are slots, so slots change hands all the time.
    @Test("Each view has a slot of its own, however many threads want one, and none is lost")
    func contention() async throws {
        let capacity = 4
        let environment = try folder.open(readerCountMax: capacity)
        let table = try environment.makeTable()
        try environment.set("a", [0], in: table)
        let tally = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    while !tally.isOver.load(ordering: .relaxed) {
                        for _ in 0..<64 {
                            Self.openNested(environment, table, depth: 3, tally)
                        }
                        await Task.yield()
                    }
                }
            }
            for round in 1...200 {
                try environment.set("a", [UInt8(round)], in: table)
                await Task.yield()
            }
            tally.isOver.store(true, ordering: .relaxed)
            try await group.waitForAll()
        }
        #expect(tally.wrong.load(ordering: .relaxed) == 0)
        #expect(tally.opened.load(ordering: .relaxed) > 0)
        #expect(environment.readers.oldestViewed == .max)

        // All of them are there again, and no more.
        let tallyAfter = Tally()
        Self.openNested(environment, table, depth: capacity + 1, tallyAfter)
        #expect(tallyAfter.opened.load(ordering: .relaxed) == capacity)
        #expect(tallyAfter.refused.load(ordering: .relaxed) == 1)
        #expect(tallyAfter.wrong.load(ordering: .relaxed) == 0)
    }

    /// Opens a view, others inside it, and compares what it sees before and after: another's
    /// renewal of the same transaction would show.
    private static func openNested(
        _ environment: Environment, _ table: Table, depth: Int, _ tally: Tally
    ) {
        guard depth > 0 else { return }
        do throws(LMDBError) {
            let view = try environment.beginRead()
            tally.opened.add(1, ordering: .relaxed)
            let before = (view.id, try view.copy(of: "a", in: table))
            openNested(environment, table, depth: depth - 1, tally)
            let after = (view.id, try view.copy(of: "a", in: table))
            if before != after || environment.readers.oldestViewed > view.id {
                tally.wrong.add(1, ordering: .relaxed)
            }
        } catch {
            tally.refused.add(1, ordering: .relaxed)
            if !error.isReadersFull { tally.wrong.add(1, ordering: .relaxed) }
        }
    }

    @Test("A view whose caller keeps the environment sees what any other sees")
    func unkept() throws {
        let environment = try folder.open(readerCountMax: 2)
        let table = try environment.makeTable()
        try environment.set("a", [1], in: table)
        for _ in 0..<3 {
            let view = try environment.readers.beginUnkept()
            #expect(environment.readers.oldestViewed == view.id)
            let read = try view.copy(of: "a", in: table)
            #expect(read == [1])
        }
        #expect(environment.readers.oldestViewed == .max)
    }
}
