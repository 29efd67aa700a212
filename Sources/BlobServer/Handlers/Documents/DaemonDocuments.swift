import BlobProtocol
import BlobStore
import Bytes

/// The answer of `/v1/scrub`: progress of the scrub, and what is damaged.
struct ScrubDocument {
    private static let listedCountMax = 100

    let store: BlobStore
    let state: ScrubState

    func addNumbers(to out: inout [UInt8]) {
        let progress = state.progress
        let damage = store.damageCounts
        out.add("running", progress.beganAt == nil ? 0 : 1)
        out.add("bytes_read", progress.byteCount)
        out.add("bytes_total", progress.byteCountInAll)
        out.add("bytes_per_second", progress.rate)
        if let began = progress.beganAt { out.add("began_at", began) }
        if let ended = progress.endedAt { out.add("last_ended_at", ended) }
        out.add("corrupt_chunks", damage.chunks)
        out.add("damaged_records", damage.records)
        out.add("damaged_entries", damage.entries)
        out.add("quarantined", store.quarantinedBlobs.count)
    }

    func append(to out: inout [UInt8]) {
        out.object {
            addNumbers(to: &$0)
            let blobs = store.quarantinedBlobs.prefix(Self.listedCountMax)
            $0.add("quarantine", blobs) { blob, out in
                out.object {
                    $0.add("digest", blob.digest.description)
                    $0.add("byte_count", blob.byteCount)
                    $0.add("references", blob.referenceCount)
                    $0.add("found_at", blob.foundAt)
                }
            }
        }
    }
}

/// The answer of `/v1/replication`: this daemon's role in its shard, and its progress.
enum ReplicationDocument {
    static func append(_ store: BlobStore, _ replica: ReplicaStatus, to out: inout [UInt8]) {
        out.object {
            $0.add("role", replica.role.name)
            guard let state = store.replicationState else { return }
            $0.add("shard", replica.options.shard ?? "")
            $0.add("leader", replica.leader)
            $0.add("epoch", state.epoch)
            $0.add("segment", state.position.number)
            $0.add("sequence", store.lastSequence)
            $0.add("shipped_sequence", store.shippedSequence)
            $0.add("unreplicated_bytes", max(0, store.unshippedByteCount))
            $0.add("lag_milliseconds", replica.lagMilliseconds(asOf: .now))
            if let problem = replica.problem { $0.add("problem", problem) }
            guard let evicted = try? store.evictedBlobs() else { return }
            $0.add("evicted_payloads", evicted.blobs)
            $0.add("evicted_bytes", evicted.bytes)
        }
    }
}
