import BlobProtocol
import BlobStore

/// What `GET /v1/stats` and `stats` answer: what the store holds, exactly, and what the daemon has
/// done since its start.
struct StatisticsDocument: Sendable {
    let store: BlobStore
    let counters: DaemonCounters
    let bodyMemory: BodyMemory
    let scrub: ScrubState
    private let startedAt: Timestamp
    /// How often the store had committed by then: it goes on counting from one run to the next.
    private let commitCountBefore: UInt64

    /// The statistics of a daemon that starts now, with its store open.
    init(
        store: BlobStore, counters: DaemonCounters, bodyMemory: BodyMemory, scrub: ScrubState
    ) {
        self.store = store
        self.counters = counters
        self.bodyMemory = bodyMemory
        self.scrub = scrub
        startedAt = .now
        commitCountBefore = store.pendingKeys.commitCount
    }

    /// The document. Costs a snapshot and a look at every table's root.
    func compose() throws(StoreError) -> [UInt8] {
        let held = try store.statistics()
        var document = NumbersDocument()
        document.add("notifications", held.notifications)
        document.add("parts", held.parts)
        document.add("blobs", held.blobs)
        document.add("bytes", held.bytes)
        document.add("bytes_stored", held.bytesStored)
        document.add("bytes_referenced", held.bytesReferenced)
        document.add("orphan_blobs", held.orphanBlobs)
        document.add("orphan_bytes", held.orphanBytes)
        document.add("tombstones", held.tombstones)
        document.add("held_blobs", held.heldBlobs)
        document.add("categories", held.categories)
        document.add("leases", held.leases)
        document.add("file_bytes", held.fileByteCount)
        document.add("allocated_bytes", store.allocatedByteCount)
        document.add("free_bytes", held.freeByteCount)
        document.add("revision", Int(clamping: held.revision))
        document.add("store_id", store.id.description)
        document.add("version", blobdVersion)
        let uptime = Timestamp.now.milliseconds - startedAt.milliseconds
        document.add("uptime_seconds", Int(uptime / 1_000))
        addCounters(to: &document)
        return document.finished()
    }

    private func addCounters(to document: inout NumbersDocument) {
        let answered = counters.requests
        document.add("workers", counters.workers.count)
        document.add("connections", counters.connectionCount)
        document.add("draining", counters.drainingCount)
        document.add("refused_peers", counters.refusedPeers.total)
        document.add("requests", answered.total)
        document.add("publishes", counters.publishes.total)
        document.add("deletes", counters.deletes.total)
        document.add("patches", counters.patches.total)
        document.add("responses", counters.responses.total)
        document.add("expired", counters.expired.total)
        document.add("watchers", store.feedWatch.count)
        document.add("feed_wakes", store.feedWatch.wakeCount)
        document.add("syncs", counters.batches.total)
        document.add("log_batches", Int(clamping: store.pendingKeys.batchCount))
        document.add(
            "log_commits", Int(clamping: store.pendingKeys.commitCount &- commitCountBefore))
        document.add("bytes_sent", counters.sum { $0.bytesSent.total })
        document.add("bytes_received", counters.sum { $0.bytesReceived.total })
        document.add("body_memory_bytes", bodyMemory.byteCountReserved)
        document.add("body_spools", bodyMemory.spoolCountTaken)
        document.add("answer_memory_bytes", counters.sum { $0.answerMemory.total })
        document.add("unread_ends", counters.sum { $0.unreadEnds.total })
        document.add("timeouts", counters.sum { $0.timeouts.total })
        document.add("clock_jumps", counters.clockJumps.total)
        var errors = NumbersDocument()
        for code in ErrorCode.allCases {
            let count = counters.sum { $0.count(of: code) }
            if count > 0 { errors.add(code.rawValue, count) }
        }
        document.add("errors", errors)
        document.add("quotas", quotas())
        document.add("scrub", ScrubDocument(store, scrub).numbers)
        addOperations(answered, to: &document)
        addSlowest(to: &document)
    }

    /// Those limits of how much there may be that are set.
    private func quotas() -> NumbersDocument {
        let quotas = store.quotas
        var document = NumbersDocument()
        for setting in QuotaSetting.allCases where quotas.limit(of: setting) > 0 {
            // Members are in snake case.
            let name = setting.rawValue.split(separator: "-").joined(separator: "_")
            document.add(name, quotas.limit(of: setting))
        }
        if quotas.freeDiskByteCountMin > 0, let free = store.freeDiskByteCount {
            document.add("free_disk", free)
        }
        return document
    }

    /// Answers of each operation: by status, and how long they took.
    private func addOperations(_ answered: RequestFigures, to document: inout NumbersDocument) {
        var operations = NumbersDocument()
        for operation in Operation.allCases {
            let counts = answered.counts.filter { $0.key.operation == operation }
            guard !counts.isEmpty else { continue }
            var entry = NumbersDocument()
            var statuses = NumbersDocument()
            for (key, count) in counts.sorted(by: { $0.key.status < $1.key.status }) {
                statuses.add("\(key.status)", count)
            }
            entry.add("statuses", statuses)
            if let durations = answered.durations[operation] {
                entry.add("nanoseconds", durations.nanoseconds)
                entry.add("buckets", durations.counts)
            }
            operations.add(operation.rawValue, entry)
        }
        document.add("operations", operations)
        document.add("bucket_nanoseconds", DurationHistogram.bounds.map { Int($0) })
    }

    /// The slowest requests of the last minute.
    private func addSlowest(to document: inout NumbersDocument) {
        let latest = counters.workers.flatMap { $0.slowest.latest(asOf: .now) }
            .sorted { $0.nanoseconds > $1.nanoseconds }
        let objects = latest.prefix(SlowestRequests.countMax).map { slow in
            var object = NumbersDocument()
            object.add("operation", slow.operation.rawValue)
            object.add("status", Int(slow.status))
            object.add("nanoseconds", Int(slow.nanoseconds))
            object.add("target", slow.target)
            object.add("at_ms", Int(slow.at.milliseconds))
            return object
        }
        document.add("slowest", objects)
    }
}
