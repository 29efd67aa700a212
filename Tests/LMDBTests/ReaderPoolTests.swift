import LMDB
import Synchronization
import TestSupport
import Testing

@Suite struct ReaderPoolTests {
    @Test("As many views as there may be are open at once; one more is refused, until one ends")
    func readersFull() throws {
        let folder = TemporaryFolder()
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

    @Test("Slots are used again and again, and each view sees the last commit")
    func reuse() throws {
        let folder = TemporaryFolder()
        let environment = try folder.open(readerCountMax: 2)
        let table = try environment.makeTable()
        for round in 0..<200 {
            let value = [UInt8(round)]
            try environment.set("a", value, in: table)
            let read = try environment.get("a", in: table)
            #expect(read == value)
        }
    }

    @Test("The oldest view is the one that was opened first, whichever ends before")
    func oldestViewed() throws {
        let folder = TemporaryFolder()
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

    /// A view is marked before it exists, so a thread that asks in between gets 0 and waits. Seen from
    /// outside: what is said to be the oldest view is never newer than one that is open.
    @Test("What is said of the oldest view holds while views come and go on other threads")
    func oldestViewedUnderLoad() async throws {
        let folder = TemporaryFolder()
        let environment = try folder.open()
        let table = try environment.makeTable()
        let flag = Flag()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    var wrong = 0
                    while !flag.isOver.load(ordering: .relaxed) {
                        wrong += try Self.compare(environment)
                        await Task.yield()
                    }
                    return wrong
                }
            }
            for round in 0..<200 {
                try environment.set("a", [UInt8(round)], in: table)
                await Task.yield()
            }
            flag.isOver.store(true, ordering: .relaxed)
            for try await wrong in group { #expect(wrong == 0) }
        }
    }

    private final class Flag: Sendable {
        let isOver = Atomic(false)
    }

    private static func compare(_ environment: Environment) throws -> Int {
        let view = try environment.beginRead()
        return environment.readers.oldestViewed > view.id ? 1 : 0
    }

    /// Values were once readable only as long as somebody else kept the environment: Swift may let
    /// go of it after its last use, and closing it unmaps the file under an open view.
    @Test("A view keeps its environment open")
    func viewKeepsEnvironment() throws {
        let folder = TemporaryFolder()
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
}
