import BlobStore
import Replication
import TestSupport

// A client that publishes the bytes of evicted payloads again, and deletes them.

extension World {
    /// Publishes the bytes of an evicted payload for another notification; the next time that one is deleted.
    func republish() throws {
        guard let host = hosts.first(where: { $0.isUp && $0.takesChanges && $0.store != nil }),
            host.commit(), let store = host.store, let contents = host.timeline?.contents
        else { return }
        operation += 1
        if let (number, operation) = republished.take(),
            contents[number]?.operation == operation
        {
            let deletion: Planned = (
                .delete(id: "n\(number)"), { contents, _ in contents[number] = nil }
            )
            try apply([deletion], to: host, isAwaited: false)
            sometimes("deleted evicted bytes that were published again")
        } else {
            let evicted = try evictedParts(contents, of: store, asOf: host.now)
            guard !evicted.isEmpty else { return }
            let (number, content) = evicted[chance.below(evicted.count)]
            let other = (number + 1 + chance.below(swarm.idCount - 1)) % swarm.idCount
            republished = (other, operation)
            try apply([try publish(content, other, host)], to: host, isAwaited: chance.chance(50))
            sometimes("published evicted bytes again")
        }
        // Readers see it.
        _ = host.commit()
    }

    private func evictedParts(
        _ contents: Contents, of store: BlobStore, asOf now: Timestamp
    ) throws -> [(number: Int, content: Int)] {
        var evicted: [(number: Int, content: Int)] = []
        for (number, version) in contents.enumerated() {
            for (part, content) in (version?.parts ?? [:]).sorted(by: { $0.key < $1.key }) {
                do throws(StoreError) {
                    _ = try store.ownedPayload(for: "n\(number)", part: part, asOf: now)
                } catch {
                    if case .evicted = error { evicted.append((number, content)) }
                }
            }
        }
        return evicted
    }

    /// Throws where a host deletes the object of a payload that it has: no other copy may be left.
    func checkDeletion(of name: String, by host: Host) throws {
        // A disk that was rolled back may have again what was garbage. A process that died of its disk meanwhile has a
        // store that gives no more snapshots.
        guard let (blobNumber, digest) = ShardNames.blobParts(name), !hasCopies,
            host.life == .up, let store = host.store
        else { return }
        sometimes("collected a payload")
        for number in 0..<swarm.idCount {
            let parts = try store.record(for: "n\(number)", asOf: host.now)?.parts ?? []
            if parts.contains(where: { $0.blob.number == blobNumber && $0.digest == digest }) {
                throw Finding("the object of a live payload is deleted", "\(name) of n\(number)")
            }
        }
    }
}
