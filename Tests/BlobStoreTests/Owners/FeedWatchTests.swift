import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BlobStore

/// Who is woken by what, and that nobody is forgotten.
@Suite struct FeedWatchTests {
    private func bytes(_ owner: String) -> [UInt8] { Array(owner.utf8) }

    @Test("A commit behind the revision wakes once, whichever comes first")
    func orders() throws {
        let watch = FeedWatch(FeedWatch.Limits(total: 10))
        let bell = Bell()
        let first = try watch.register(bytes("anna"), after: 5) { bell.ring() }
        #expect(first != nil)
        watch.notify(["anna"], at: 6)
        #expect(bell.rings == 1)
        watch.notify(["anna"], at: 7)
        #expect(bell.rings == 1, "woken once for each time it waits")
        // The commit came before: a waiter with an older snapshot looks again.
        #expect(try watch.register(bytes("anna"), after: 6) { bell.ring() } == nil)
        let second = try watch.register(bytes("anna"), after: 7) { bell.ring() }
        #expect(second != nil && bell.rings == 1)
        watch.notify(["anna"], at: 8)
        #expect(bell.rings == 2 && watch.wakeCount == 2)
        // The same place once more.
        #expect(first?.wait(after: 7) == false)
        #expect(first?.wait(after: 8) == true)
        // Waiting twice for the same is waiting once.
        #expect(first?.wait(after: 8) == true)
        watch.notify(["bert", "anna", "anna", "carl"], at: 9)
        #expect(bell.rings == 3)
        watch.notify(["anna"], at: 10)
        #expect(bell.rings == 3, "it waits for nothing yet")
    }

    @Test("Nobody is woken for another owner, not even for one that looks the same")
    func others() throws {
        let watch = FeedWatch(FeedWatch.Limits(total: 10))
        let bell = Bell()
        let composed = "\u{E9}"
        let decomposed = "e\u{301}"
        #expect(composed == decomposed)
        let place = try watch.register(bytes(composed)) { bell.ring() }
        #expect(place.wait(after: 1))
        for (revision, owner) in [decomposed, "", "E", "anna"].enumerated() {
            watch.notify([owner], at: UInt64(revision + 2))
        }
        #expect(bell.rings == 0)
        watch.notify([composed], at: 9)
        #expect(bell.rings == 1)
    }

    @Test("An owner whose name falls together with another's looks once more, and is not woken")
    func collisions() throws {
        let watch = FeedWatch(FeedWatch.Limits(total: 10_000))
        watch.notify(["anna"], at: 10)
        // Of so many names some share the bucket: they must look again, for it may have been them.
        let names = (0..<20_000).map { "name \($0)" }
        let others = try names.filter { name in
            try watch.register(bytes(name), after: 9) {} == nil
        }
        #expect(!others.isEmpty && others.count < 1_000)
        for other in others.prefix(3) {
            let bell = Bell()
            let place = try watch.register(bytes(other), after: 10) { bell.ring() }
            #expect(place != nil)
            watch.notify(["anna"], at: 11)
            #expect(bell.rings == 0)
            watch.notify([other], at: 10)
            #expect(bell.rings == 1)
            watch.notify(["anna"], at: 10)
        }
        #expect(watch.count == 0)
    }

    /// Sixty streams of one stranger took sixty of all watchers' places, and kept them.
    @Test("One owner and one peer have a part of the places each, and the limit is named")
    func shares() throws {
        let watch = FeedWatch(FeedWatch.Limits(total: 8, perOwner: 2))
        #expect(watch.limits.perPeer == 6)
        var places: [FeedRegistration] = []
        func take(_ owner: String, peer: UInt32?) throws {
            places.append(try watch.register(bytes(owner), peer: peer) {})
        }
        func isRefused(_ owner: String, peer: UInt32?, _ limit: Int, _ which: WatcherLimit) -> Bool
        {
            do throws(StoreError) {
                _ = try watch.register(bytes(owner), peer: peer) {}
                return false
            } catch {
                guard case .tooManyWatchers(limit, which) = error else { return false }
                return error.description.contains("(\(limit))")
            }
        }
        for _ in 0..<2 { try take("anna", peer: 33) }
        #expect(isRefused("anna", peer: 34, 2, .owner))
        for owner in ["bert", "carl", "dora", "emil"] { try take(owner, peer: 33) }
        #expect(isRefused("fred", peer: 33, 6, .peer))
        for owner in ["fred", "gina"] { try take(owner, peer: 34) }
        #expect(isRefused("hans", peer: 35, 8, .total))
        #expect(watch.count == 8 && watch.count(ofPeer: 33) == 6 && watch.count(ofPeer: 34) == 2)
        // Who goes gives both back.
        places.removeFirst()
        #expect(watch.count(ofOwner: bytes("anna")) == 1 && watch.count(ofPeer: 33) == 5)
        try take("anna", peer: 33)
        places = []
        #expect(watch.count == 0 && watch.count(ofPeer: 33) == 0)
        #expect(watch.count(ofOwner: bytes("anna")) == 0)
    }

    @Test("Places are counted exactly, in whatever order they are taken and given up")
    func exactly() throws {
        let seed = testSeed(26)
        var random = SeededGenerator(seed: seed)
        let watch = FeedWatch(FeedWatch.Limits(total: 40, perOwner: 9, perPeer: 17))
        var places: [(owner: String, peer: UInt32?, place: FeedRegistration)] = []
        for _ in 0..<testRounds(1_000) {
            if random.next() % 100 < 45, !places.isEmpty {
                places.remove(at: Int(random.next() % UInt64(places.count)))
            } else {
                let owner = "owner\(random.next() % 6)"
                let peer: UInt32? = [nil, 0, 33, 1_000][Int(random.next() % 4)]
                let isFree =
                    places.count < 40 && places.count { $0.owner == owner } < 9
                    && (peer == nil || places.count { $0.peer == peer } < 17)
                let place = try? watch.register(bytes(owner), peer: peer) {}
                #expect((place != nil) == isFree, "seed \(seed)")
                if let place { places.append((owner, peer, place)) }
            }
            #expect(watch.count == places.count, "seed \(seed)")
        }
        for owner in Set(places.map(\.owner)) {
            #expect(watch.count(ofOwner: bytes(owner)) == places.count { $0.owner == owner })
        }
        places = []
        #expect(watch.count == 0 && watch.count(ofPeer: 0) == 0 && watch.count(ofPeer: 33) == 0)
    }

    @Test("Who has given up is not woken")
    func cancelled() throws {
        let watch = FeedWatch(FeedWatch.Limits(total: 10))
        let bell = Bell()
        let kept = Bell()
        let place = try #require(try watch.register(bytes("anna"), after: 1) { bell.ring() })
        let other = try watch.register(bytes("anna"), after: 1) { kept.ring() }
        place.cancel()
        do { _ = try watch.register(bytes("anna"), after: 1) { bell.ring() } }
        watch.notify(["anna"], at: 2)
        #expect(bell.rings == 0 && kept.rings == 1)
        place.cancel()
        #expect(place.wait(after: 2))
        watch.notify(["anna"], at: 3)
        #expect(bell.rings == 1)
        #expect(other != nil && watch.count == 2)
    }

    /// A store of which only the revisions are left: what is committed can be seen before it is
    /// notified, as LMDB has it.
    private final class Commits: Sendable {
        let watch = FeedWatch(FeedWatch.Limits(total: 64))
        static let owners = ["anna", "bert", "carl"]
        static let waiterCount = 6
        private let committed = Mutex<[UInt64]>([0, 0, 0])
        private let latest = Atomic<UInt64>(0)
        /// How far each waiter has come.
        private let seen = Mutex([UInt64](repeating: 0, count: waiterCount))

        func commit(_ revision: UInt64, _ owner: Int) {
            committed.withLock { $0[owner] = revision }
            latest.store(revision, ordering: .sequentiallyConsistent)
            watch.notify([Self.owners[owner]], at: revision)
        }

        /// What a snapshot sees: its revision, and the last change of an owner in it or later.
        func look(_ waiter: Int) -> (revision: UInt64, last: UInt64) {
            let revision = latest.load(ordering: .sequentiallyConsistent)
            let last = committed.withLock { $0[waiter % 3] }
            seen.withLock { $0[waiter] = last }
            return (revision, last)
        }

        /// Waits until everybody has seen what they wait for. Without it the next commit would wake
        /// who missed this one.
        func waitForAll() -> Bool {
            let end = DispatchTime.now() + .seconds(300)
            while true {
                let last = committed.withLock { $0 }
                let isDone = seen.withLock { seen in
                    seen.indices.allSatisfy { seen[$0] >= last[$0 % 3] }
                }
                if isDone { return true }
                if DispatchTime.now() > end { return false }
                sched_yield()
            }
        }
    }

    @Test("No wake-up is lost between threads")
    func threads() async throws {
        let commits = Commits()
        let last: UInt64 = 2_000
        await withTaskGroup(of: Bool.self) { group in
            for waiter in 0..<Commits.waiterCount {
                group.addTask {
                    await onThread { Self.follow(commits, waiter, to: last - 2) }
                }
            }
            group.addTask {
                await onThread {
                    // The owners alternate, so that each has one of the last three.
                    for revision in 1...last {
                        commits.commit(revision, Int(revision % 3))
                        if revision.isMultiple(of: 3), !commits.waitForAll() { return false }
                    }
                    return true
                }
            }
            for await isRight in group { #expect(isRight) }
        }
        #expect(commits.watch.count == 0)
    }

    /// Waits for one change after the other, up to the last one of its owner.
    ///
    /// - Returns: false when it was not woken.
    private static func follow(_ commits: Commits, _ waiter: Int, to end: UInt64) -> Bool {
        let signal = DispatchSemaphore(value: 0)
        while true {
            let (revision, last) = commits.look(waiter)
            if last >= end { return true }
            // Half of the time a pause, so that a commit comes in between.
            if last.isMultiple(of: 2) { usleep(1) }
            let owner = Array(Commits.owners[waiter % 3].utf8)
            let place = try? commits.watch.register(owner, after: revision) { signal.signal() }
            guard let place else { continue }
            guard signal.wait(timeout: .now() + .seconds(300)) == .success else { return false }
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
