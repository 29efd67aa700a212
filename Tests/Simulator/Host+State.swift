import BlobStore
import Replication
import TestSupport

// What the model learns of a host.

extension Host {
    /// How the daemon opens its store.
    var options: StoreOptions {
        var options = StoreOptions()
        options.mapByteCountMax = 1 << 30
        options.tombstoneRetentionMilliseconds = 100_000_000
        options.isReplicated = true
        options.evictsBlobs = true
        if world.swarm.has(.quotas) {
            options.quotas.notificationCountMax = world.swarm.idCount / 2
        }
        return options
    }

    /// What a read finds, if all is well; nil: not known.
    var expected: Contents? {
        guard let store else { return nil }
        if let timeline { return timeline.contents }
        return world.history.contents(store.lastSequence)
    }

    /// Notes what a step of the process did: batches that no client asked for, and a change of role.
    func noteState() throws {
        guard let store, life == .up, !disk.isFrozen else { return }
        let last = store.lastSequence
        if leads {
            if timeline == nil {
                let base = min(last, world.history.last)
                guard let first = world.history.contents(base) else {
                    throw Finding("a store leads with contents that nobody knows")
                }
                timeline = Timeline(base: base, first: first)
            }
            append(upTo: last, timeline?.contents, isAcknowledged: false)
        } else if let timeline {
            try checkSaved(timeline)
            self.timeline = nil
            inFlight = nil
        }
    }

    /// Appends what was done: the last batch has the contents.
    func append(upTo last: UInt64, _ contents: Contents?, isAcknowledged: Bool) {
        while let timeline, timeline.last < last {
            world.stamp += 1
            let isLast = timeline.last + 1 == last
            self.timeline?.batches.append(
                Batch(
                    stamp: world.stamp, contents: isLast ? contents : nil,
                    isAcknowledged: isAcknowledged && isLast, milliseconds: world.clock))
        }
    }

    /// Checks what a store has that was opened after whatever happened to the process before.
    func noteOpened(_ store: BlobStore) throws {
        guard let state = store.replicationState, state.role == .leader, let timeline else {
            if store.replicationState?.role != .leader, let timeline {
                try checkSaved(timeline)
                self.timeline = nil
            }
            inFlight = nil
            return
        }
        let last = store.lastSequence
        let acknowledged =
            timeline.base + UInt64((timeline.batches.lastIndex { $0.isAcknowledged } ?? -1) + 1)
        guard last >= acknowledged else {
            throw Finding(
                "acknowledged changes are gone after a restart",
                "\(name) has \(last) of \(acknowledged)")
        }
        self.timeline?.cut(to: last)
        guard last > timeline.last else {
            inFlight = nil
            return
        }
        // What was under way when it died is there.
        world.sometimes("a change that was not acknowledged survived")
        let old = timeline.contents
        let outcomes = inFlight?.outcomes ?? []
        var found = old ?? []
        for number in found.indices {
            let options = [old?[number]] + outcomes.map { $0[number] }
            let match = try options.first { try world.finds(number, $0 ?? nil, in: store, at: now) }
            guard let match else {
                throw Finding("a restarted store has what nobody wrote", "\(name) n\(number)")
            }
            found[number] = match ?? nil
        }
        append(upTo: last, found, isAcknowledged: true)
        inFlight = nil
    }

    /// Checks that what a deposed leader had acknowledged, and its shard does not have, is in a file.
    private func checkSaved(_ timeline: Timeline) throws {
        var lost: Set<UInt64> = []
        for (index, batch) in timeline.batches.enumerated() where batch.isAcknowledged {
            let sequence = timeline.base + UInt64(index) + 1
            if world.history.batch(sequence)?.stamp != batch.stamp { lost.insert(sequence) }
        }
        guard !lost.isEmpty else { return }
        world.sometimes("a deposed leader had changes of its own")
        for folder in Files.names(in: disk.folder) where folder.hasPrefix("unreplicated-epoch-") {
            for name in Files.names(in: "\(disk.folder)/\(folder)/log") {
                let bytes = try Files.read("\(disk.folder)/\(folder)/log/\(name)")
                guard let segment = try? Segment(bytes) else { continue }
                for item in segment.items { lost.remove(item.batch.sequence) }
            }
        }
        guard lost.isEmpty else {
            throw Finding(
                "acknowledged changes are dropped and not saved",
                "\(name): \(lost.count) from \(lost.min() ?? 0)")
        }
    }
}
