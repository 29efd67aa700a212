import Foundation
import Synchronization
import Testing

@testable import BlobStore

/// Who is woken by what, and that nobody is forgotten.
@Suite struct FeedWatchTests {
    /// Counts wake-ups.
    private final class Bell: Sendable {
        private let count = Atomic(0)
        var rings: Int { count.load(ordering: .sequentiallyConsistent) }
        func ring() { count.add(1, ordering: .sequentiallyConsistent) }
    }

    private func bytes(_ owner: String) -> [UInt8] { Array(owner.utf8) }

    @Test("A commit behind the revision wakes once, whichever comes first")
    func orders() throws {
        let watch = FeedWatch(watcherCountMax: 10)
        let bell = Bell()
        let first = try watch.register(bytes("anna"), behind: 5) { bell.ring() }
        #expect(first != nil)
        watch.notify(["anna"], at: 6)
        #expect(bell.rings == 1)
        watch.notify(["anna"], at: 7)
        #expect(bell.rings == 1, "woken once for each time it waits")
        // The commit came before: whoever has looked in an older snapshot looks again.
        #expect(try watch.register(bytes("anna"), behind: 6) { bell.ring() } == nil)
        let second = try watch.register(bytes("anna"), behind: 7) { bell.ring() }
        #expect(second != nil && bell.rings == 1)
        watch.notify(["anna"], at: 8)
        #expect(bell.rings == 2 && watch.wakeCount == 2)
        // The same place once more.
        #expect(first?.wait(behind: 7) == false)
        #expect(first?.wait(behind: 8) == true)
        watch.notify(["bert", "anna", "carl"], at: 9)
        #expect(bell.rings == 3)
    }

    @Test("Waiting twice for the same is waiting once")
    func twice() throws {
        let watch = FeedWatch(watcherCountMax: 10)
        let bell = Bell()
        let place = try watch.register(bytes("anna")) { bell.ring() }
        watch.notify(["anna"], at: 1)
        #expect(bell.rings == 0, "it waits for nothing yet")
        #expect(place.wait(behind: 1) && place.wait(behind: 1))
        watch.notify(["anna", "anna"], at: 2)
        #expect(bell.rings == 1)
    }

    @Test("Nobody is woken for another owner, not even for one that looks the same")
    func others() throws {
        let watch = FeedWatch(watcherCountMax: 10)
        let bell = Bell()
        let composed = "\u{E9}"
        let decomposed = "e\u{301}"
        #expect(composed == decomposed)
        let place = try watch.register(bytes(composed)) { bell.ring() }
        #expect(place.wait(behind: 1))
        for (revision, owner) in [decomposed, "", "E", "anna"].enumerated() {
            watch.notify([owner], at: UInt64(revision + 2))
        }
        #expect(bell.rings == 0)
        watch.notify([composed], at: 9)
        #expect(bell.rings == 1)
    }

    @Test("An owner whose name falls together with another's looks once more, and is not woken")
    func collisions() throws {
        let watch = FeedWatch(watcherCountMax: 10_000)
        watch.notify(["anna"], at: 10)
        // Of so many names some share the bucket: they must look again, for it may have been them.
        let names = (0..<60_000).map { "name \($0)" }
        let others = try names.filter { name in
            try watch.register(bytes(name), behind: 9) {} == nil
        }
        #expect(!others.isEmpty && others.count < 1_000)
        for other in others.prefix(3) {
            let bell = Bell()
            let place = try watch.register(bytes(other), behind: 10) { bell.ring() }
            #expect(place != nil)
            watch.notify(["anna"], at: 11)
            #expect(bell.rings == 0)
            watch.notify([other], at: 10)
            #expect(bell.rings == 1)
            watch.notify(["anna"], at: 10)
        }
        #expect(watch.count == 0)
    }

    @Test("Places are limited, kept while woken, and free again when they are let go of")
    func places() throws {
        let watch = FeedWatch(watcherCountMax: 2)
        var first: FeedRegistration? = try watch.register(bytes("anna"), behind: 1) {}
        let second = try watch.register(bytes("bert"), behind: 1) {}
        #expect(watch.count == 2)
        watch.notify(["anna"], at: 2)
        #expect(watch.count == 2, "who was woken has its place still")
        do throws(StoreError) {
            _ = try watch.register(bytes("carl"), behind: 2) {}
            Issue.record("there were two places")
        } catch {
            guard case .tooManyWatchers(limit: 2) = error else {
                throw error
            }
        }
        first?.cancel()
        #expect(watch.count == 2)
        first = nil
        #expect(watch.count == 1)
        let third = try watch.register(bytes("carl"), behind: 2) {}
        #expect(third != nil && second != nil && watch.count == 2)
    }

    @Test("Who has given up is not woken")
    func cancelled() throws {
        let watch = FeedWatch(watcherCountMax: 10)
        let bell = Bell()
        let kept = Bell()
        let place = try #require(try watch.register(bytes("anna"), behind: 1) { bell.ring() })
        let other = try watch.register(bytes("anna"), behind: 1) { kept.ring() }
        place.cancel()
        do { _ = try watch.register(bytes("anna"), behind: 1) { bell.ring() } }
        watch.notify(["anna"], at: 2)
        #expect(bell.rings == 0 && kept.rings == 1)
        place.cancel()
        #expect(place.wait(behind: 2))
        watch.notify(["anna"], at: 3)
        #expect(bell.rings == 1)
        #expect(other != nil && watch.count == 2)
    }

    /// A store of which only the revision is left: what is committed can be seen before it is
    /// notified, as LMDB has it.
    private final class Commits: Sendable {
        let watch = FeedWatch(watcherCountMax: 64)
        private let committed = Mutex<[UInt64]>([0, 0, 0])
        private let latest = Atomic<UInt64>(0)
        static let owners = ["anna", "bert", "carl"]

        func commit(_ revision: UInt64, _ owner: Int) {
            committed.withLock { $0[owner] = revision }
            latest.store(revision, ordering: .sequentiallyConsistent)
            watch.notify([Self.owners[owner]], at: revision)
        }

        /// What a snapshot sees: its revision, and the last change of an owner in it or later.
        func look(_ owner: Int) -> (revision: UInt64, last: UInt64) {
            let revision = latest.load(ordering: .sequentiallyConsistent)
            return (revision, committed.withLock { $0[owner] })
        }
    }

    @Test("No wake-up is lost between threads", .timeLimit(.minutes(2)))
    func threads() async throws {
        let commits = Commits()
        let last: UInt64 = 30_000
        await withTaskGroup(of: Bool.self) { group in
            for waiter in 0..<6 {
                group.addTask {
                    await onThread { Self.follow(commits, waiter % 3, to: last - 2) }
                }
            }
            group.addTask {
                await onThread {
                    // The owners take turns, so that each has one of the last three.
                    for revision in 1...last { commits.commit(revision, Int(revision % 3)) }
                    return true
                }
            }
            for await isRight in group { #expect(isRight) }
        }
        #expect(commits.watch.count == 0)
    }

    /// Waits for one change after the other, up to the last one of its owner. A lost wake-up would
    /// leave it waiting for ever.
    private static func follow(_ commits: Commits, _ owner: Int, to end: UInt64) -> Bool {
        let signal = DispatchSemaphore(value: 0)
        var seen: UInt64 = 0
        while true {
            let (revision, last) = commits.look(owner)
            guard last >= seen else { return false }
            seen = last
            if seen >= end { return true }
            let place = try? commits.watch.register(
                Array(Commits.owners[owner].utf8), behind: revision
            ) {
                signal.signal()
            }
            guard let place else { continue }
            signal.wait()
            place.cancel()
        }
    }
}

/// Runs `body` on a thread of its own, which may wait.
func onThread(_ body: @escaping @Sendable () -> Bool) async -> Bool {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
    }
}
