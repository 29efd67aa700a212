import BlobStore
import Glibc
import TestSupport

/// Publishes and deletes on several threads until the process is killed.
///
/// Before a change a thread says what it is about to do (`? ID DIGEST`, `? ID -`), afterwards that
/// it is on disk (`! ID …`). A thread has ids of its own, so what is said of an id is said in the
/// order of its changes; only the last one said may be open.
enum Torture {
    private static let idCount = 24

    static func run(_ directory: String, seed: UInt64, threads: Int) {
        do throws(StoreError) {
            let store = try StoreTorture.openStore(directory)
            StoreTorture.say("opened")
            for thread in 0..<threads { start(store, seed: seed, thread: thread) }
            // Housekeeping, as a daemon does it, on this thread.
            while true { _ = try store.freeOrphans(byteCountMax: 1 << 20) }
        } catch {
            StoreTorture.say("error \(error)")
            exit(1)
        }
    }

    private final class Work {
        let store: BlobStore
        var noise: SeededGenerator
        let thread: Int

        init(_ store: BlobStore, _ noise: SeededGenerator, _ thread: Int) {
            self.store = store
            self.noise = noise
            self.thread = thread
        }
    }

    private static func start(_ store: BlobStore, seed: UInt64, thread: Int) {
        let work = Work(store, SeededGenerator(seed: seed &* 1_000 &+ UInt64(thread)), thread)
        var handle = pthread_t()
        pthread_create(
            &handle, nil,
            { raw in
                guard let raw else { return nil }
                Torture.work(Unmanaged<Work>.fromOpaque(raw).takeRetainedValue())
                return nil
            }, Unmanaged.passRetained(work).toOpaque())
    }

    private static func work(_ work: Work) {
        do throws(StoreError) {
            while true {
                // A few changes together, as a group commit has them.
                var changes: [Change] = []
                var said: [String] = []
                var ids: Set<String> = []
                for _ in 0..<Int.random(in: 1...4, using: &work.noise) {
                    let number = Int.random(in: 0..<idCount, using: &work.noise)
                    let id = "\(work.thread)-\(number)"
                    guard ids.insert(id).inserted else { continue }
                    if Int.random(in: 0..<4, using: &work.noise) == 0 {
                        changes.append(.delete(id: id))
                        said.append("\(id) -")
                    } else {
                        let change = try publication(id, work)
                        changes.append(change.0)
                        said.append("\(id) \(change.1)")
                    }
                }
                // Behind them some that leave the payloads as they are.
                for _ in 0..<Int.random(in: 0...3, using: &work.noise) {
                    changes.append(patch(work))
                }
                for line in said { StoreTorture.say("? " + line) }
                let outcomes = try work.store.apply(changes, asOf: noon)
                for (line, outcome) in zip(said, outcomes) {
                    if case .refused(let error) = outcome { throw error }
                    StoreTorture.say("! " + line)
                }
            }
        } catch {
            StoreTorture.say("error \(error)")
            exit(1)
        }
    }

    private static func patch(_ work: Work) -> Change {
        let number = Int.random(in: 0..<idCount, using: &work.noise)
        var patch = NotificationPatch(id: "\(work.thread)-\(number)")
        patch.isRead = .set(Bool.random(using: &work.noise))
        patch.group = Bool.random(using: &work.noise) ? .set("g\(number % 3)") : .keep
        return .patch(patch)
    }

    /// Few seeds, so that blobs are shared; sizes from nothing to several chunks, and now and then
    /// one that is written ahead.
    private static func publication(
        _ id: String, _ work: Work
    ) throws(StoreError) -> (Change, Digest) {
        let kind = UInt64.random(in: 0..<40, using: &work.noise)
        let byteCount =
            switch kind {
            case 0..<20: Int(kind * 97)
            case 20..<38: Int(kind * 4_001)
            default: work.thread == 0 && kind == 39 ? 17 << 20 : 200_000
            }
        let bytes = StoreTorture.noise(seed: kind, count: byteCount)
        let change = try work.store.change(id, to: bytes)
        guard case .publish(var publication) = change else { exit(1) }
        // Most have an owner, and now and then another one than before.
        publication.owner = [nil, "anna", "ben", "ben"].randomElement(using: &work.noise) ?? nil
        return (.publish(publication), publication.payload.digest)
    }
}
