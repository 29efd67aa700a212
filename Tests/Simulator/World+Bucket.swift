import BlobStore
import Replication
import TestSupport

// What the world does to requests, and what it learns of the log of the shard.

extension World {
    /// What happens to a request.
    func drawFault(_ operation: SimulatedBucket.Operation, of host: Host) -> Fault? {
        countRequest()
        guard !isSafe else { return nil }
        let isCutOff = clock >= host.cutOffFrom && clock < host.cutOffUntil
        if clock < awayUntil || isCutOff { return .failsBefore }
        guard chance.below(1_000) < swarm.faultPermille else { return nil }
        countFault()
        var faults: [Fault] = []
        if swarm.has(.unknown) { faults += [.failsBefore, .failsAfter] }
        if swarm.has(.refused) { faults.append(.refused) }
        if swarm.has(.late) { faults.append(.late(Int64(chance.logarithmic(100...20_000)))) }
        if swarm.has(.delayed), operation == .create || operation == .put {
            faults.append(.delayed)
        }
        if swarm.has(.absurd) {
            switch operation {
            case .get: faults += [.absurd(.nothing), .absurd(.page)]
            case .create: faults.append(.absurd(.existsAlready))
            default: break
            }
        }
        if swarm.has(.missing), operation == .get { faults.append(.absurd(.missing)) }
        if swarm.has(.kill) { faults += [.crashBefore, .crashAfter] }
        if swarm.has(.pause) { faults.append(.pauses(Int64(chance.logarithmic(1_000...200_000)))) }
        return faults.isEmpty ? nil : faults[chance.below(faults.count)]
    }

    /// What a segment's batches are, as its writer has them; nil: it is none.
    func batches(
        of bytes: [UInt8], named name: String, by host: Host
    ) -> (head: Segment.Head, batches: [(sequence: UInt64, batch: Batch)])? {
        guard name.hasPrefix(ShardNames.logPrefix), let segment = try? Segment(bytes) else {
            return nil
        }
        var batches: [(UInt64, Batch)] = []
        for item in segment.items {
            let sequence = item.batch.sequence
            var batch = host.timeline?.batch(sequence)
            if batch == nil, sequence <= host.timeline?.base ?? history.last {
                batch = history.batch(sequence)
            }
            if batch == nil { stamp += 1 }
            batches.append(
                (sequence, batch ?? Batch(stamp: stamp, contents: nil, milliseconds: clock)))
        }
        return (segment.head, batches)
    }

    /// A name is created.
    func create(
        _ name: String, _ bytes: [UInt8],
        _ segment: (head: Segment.Head, batches: [(sequence: UInt64, batch: Batch)])?, by host: Host
    ) {
        objects.put(name, bytes)
        if name.hasSuffix("manifest.json"), let manifest = try? BaseManifest(bytes) {
            firstRestorable = min(firstRestorable, manifest.sequence)
            baseSequences[manifest.position.number] = manifest.sequence
        }
        guard let (head, batches) = segment else { return }
        note { try self.extend(by: head, batches, of: host) }
    }

    /// A name is written, whether it is there or not.
    func put(_ name: String, _ bytes: [UInt8]) {
        objects.put(name, bytes)
        if name == ShardNames.alive(history.epoch) { history.signedAt = clock }
    }

    /// A host looks whether the one that began the last epoch is alive.
    func noteLook(at name: String, found: Bool, by host: Host) {
        guard name == ShardNames.alive(history.epoch) else { return }
        // Nobody can know better where the bucket lies.
        let isLie = !found && objects[name] != nil
        host.seenSilence = (history.epoch, isLie ? .max : clock - history.signedAt)
    }

    /// Whether nothing is behind the fence of a host that has said nothing since, for as long as the rules ask of whoever
    /// takes it for dead: others than its leader do so only after an epoch that has ended.
    private func isAbandoned(_ epoch: UInt64, before number: UInt64, seenBy host: Host) -> Bool {
        let silence =
            host.leads
            ? 2 * Int64(ReplicationLimits.beatMilliseconds)
            : ReplicationLimits.leaderlessMilliseconds
        return history.fences.contains(number - 1) && host.seenSilence.epoch == epoch
            && host.seenSilence.milliseconds >= silence
    }

    /// A name is deleted.
    func delete(_ name: String, by host: Host) {
        objects.delete(name)
        note { try self.checkDeletion(of: name, by: host) }
        if let number = ShardNames.number(name, after: ShardNames.logPrefix) {
            note { try self.checkSegment(number) }
        }
        guard let number = baseNumber(name) else { return }
        baseSequences[number] = nil
        note { try self.checkBases() }
    }

    /// The number of a base whose manifest has this name.
    private func baseNumber(_ name: String) -> UInt64? {
        guard name.hasSuffix("/manifest.json") else { return nil }
        return UInt64(name.dropFirst(ShardNames.basePrefix.count).prefix { $0 != "/" })
    }

    /// The last batch that the retention does not need.
    private var retentionStart: UInt64 {
        let bound = restorableSince
        let index = history.batches.lastIndex { $0.milliseconds <= bound }
        return UInt64((index ?? -1) + 1)
    }

    /// The bases that are left must reach back as far as the retention.
    private func checkBases() throws {
        let target = retentionStart
        guard firstRestorable <= target else { return }
        guard baseSequences.values.contains(where: { $0 <= target }) else {
            throw Finding("a base is deleted that the retention needs", "for \(target)")
        }
    }

    /// What is deleted of the log is a segment that no restore within the retention reads.
    private func checkSegment(_ number: UInt64) throws {
        sometimes("collected a segment")
        guard !history.fences.contains(number) else {
            throw Finding("a fence is deleted", "\(number)")
        }
        let target = retentionStart
        let first =
            baseSequences.filter { $0.value <= target }.keys.max() ?? baseSequences.keys.min()
        guard let first, number <= first else {
            throw Finding("a segment is deleted that the retention needs", "\(number)")
        }
    }

    /// The log of the shard gets longer.
    private func extend(
        by head: Segment.Head, _ batches: [(sequence: UInt64, batch: Batch)], of host: Host
    ) throws {
        guard head.number > history.position else {
            // It was collected: not part of the log, but where it is the same again.
            sometimes("a name that was collected was created again")
            return
        }
        guard head.number == history.position + 1 else {
            throw Finding(
                "a name of the log is skipped", "\(head.number) after \(history.position)")
        }
        history.position = head.number
        guard head.epoch == history.epoch || (head.kind == .fence && head.epoch > history.epoch)
        else {
            throw Finding(
                "an epoch goes on behind another one, or begins without a fence",
                "\(head.epoch) after \(history.epoch) by \(host.name)")
        }
        let isAbandoned = isAbandoned(history.epoch, before: head.number, seenBy: host)
        history.epoch = head.epoch
        host.appendedPosition = head.number
        defer {
            (history.writer, history.hasEnded) = (host.name, head.kind == .end)
            history.signedAt = clock
        }
        for (sequence, batch) in batches {
            if let there = history.batch(sequence) {
                guard there.stamp == batch.stamp else {
                    throw Finding(
                        "the log has two batches of one sequence", "\(sequence) by \(host.name)")
                }
                sometimes("a batch was shipped twice")
                continue
            }
            guard sequence == history.last + 1 else {
                throw Finding(
                    "the log has a gap", "\(sequence) after \(history.last) by \(host.name)")
            }
            history.append(batch)
        }
        if head.kind == .fence {
            sometimes("fences")
            history.fences.insert(head.number)
            // Only who was told that the leader is gone takes the lead from one that has not ended its epoch, or who was met
            // by a fence that nobody leads by.
            let isDeposing = history.writer != host.name && !history.hasEnded
            guard
                !isDeposing || isAbandoned || hasCopies || host.settings.mayBegin
                    || host.settings.autoPromoteMilliseconds != nil || mayDepose.contains(host.name)
            else {
                throw Finding(
                    "a planned promotion deposes a leader", "\(history.writer) by \(host.name)")
            }
            guard head.sequence == history.last else {
                throw Finding(
                    "a leader begins without all of the log",
                    "\(host.name) with \(head.sequence) of \(history.last)")
            }
        }
    }

    /// A client is told that a change is in the bucket.
    func acknowledge(_ waiter: Waiter, by host: Host) throws {
        let sequence = waiter.sequence
        for name in waiter.objects
        where objects[name] == nil && lost[name, default: 0] < waiter.begunAt {
            guard let (number, digest) = ShardNames.blobParts(name),
                try host.store?.isStored(digest, number: number) == true
            else { continue }
            throw Finding(
                "acknowledged as replicated, and the bucket lacks the payload",
                "\(sequence) by \(host.name): \(name)")
        }
        guard history.batch(sequence)?.stamp == waiter.stamp else {
            throw Finding(
                "acknowledged as replicated, and not in the log of the shard",
                "\(sequence) by \(host.name), the log ends with \(history.last)")
        }
        guard objects.bytes.contains(where: { $0.key.hasSuffix("manifest.json") }) else {
            throw Finding("acknowledged as replicated without a base in the bucket", host.name)
        }
        if let position = waiter.position {
            guard host.appendedPosition > position else {
                throw Finding(
                    "acknowledged as replicated by who may not lead any more",
                    "\(host.name) was asked at \(position), and appended \(host.appendedPosition)")
            }
            sometimes("acknowledged what had no effect")
        }
        history.acknowledged = max(history.acknowledged, sequence)
        sometimes("acknowledged as replicated")
    }
}
