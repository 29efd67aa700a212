import BlobStore
import Hashing
import Replication
import SimulatedSystem
import TestSupport

// The second phase: nothing fails any more, and within some minutes all must be well.

extension World {
    /// How long hosts may take to be well again, in milliseconds.
    private static let quietMillisecondsMax: Int64 = 900_000

    func reachQuiet() throws {
        trace("quiet at \(clock)")
        isQuiet = true
        awayUntil = 0
        for host in hosts {
            host.pausedUntil = min(host.pausedUntil, clock)
            host.cutOffUntil = 0
            host.isFull = false
            host.disk.setFull(false)
            host.disk.freeze(atCall: 0)
            host.disk.failSync(0)
        }
        try settle(operationCount: 20)
        isStill = true
        for host in hosts {
            for reader in host.readers { try reader.finish(host) }
            host.readers = []
        }
        for host in hosts { try readAll(host) }
        try settle(operationCount: 0)
        try checkQuiet()
    }

    /// Waits until nothing is lacking, for as long as that may take.
    private func settle(operationCount: Int) throws {
        let end = clock + Self.quietMillisecondsMax
        var round = 0
        // What was committed a moment ago is shipped a moment later.
        var (shipped, shippedAt) = (UInt64(0), clock)
        while true {
            chance = SeededGenerator(seed: swarm.seed, thread: 2, round: round)
            round += 1
            clock += round < 100 ? 1_000 : 3_000
            try runDue(countMax: 40)
            if round < operationCount { try operate() }
            // Where the disk of the leader is lost, or a host lacks payloads, somebody has to say who leads.
            if round == 120,
                reached["lost a disk"] != nil || reached["rolled back a disk"] != nil
                    || hasUngivenPayloads,
                !hosts.contains(where: { $0.leads }),
                let host = hosts.first(where: { $0.isUp && $0.store != nil })
            {
                mayDepose.insert(host.name)
                host.promotion = Promotion(isForced: true)
            }
            guard let problem = try whatIsLacking() else { return }
            let now = hosts.compactMap { $0.leads ? $0.store?.shippedSequence : nil }.max() ?? 0
            if now != shipped { (shipped, shippedAt) = (now, clock) }
            guard clock < max(end, shippedAt + 60_000) else { throw problem }
        }
    }

    /// Why all is not well yet; nil: it is.
    private func whatIsLacking() throws -> Finding? {
        // First what the others may wait for.
        for host in hosts where host.leads && host.takesChanges && host.replica != nil {
            if let error = host.errors["replica"] {
                return Finding("the leader does not ship: \(Host.words(error))", host.name)
            }
        }
        for host in hosts {
            guard host.life == .up, host.store != nil, host.replica != nil else {
                return Finding("a host does not start: \(host.reason("start"))", host.name)
            }
        }
        let leaders = hosts.filter { $0.leads && $0.takesChanges }
        let reasons = hosts.map { $0.reason("replica") }.first { !$0.isEmpty } ?? ""
        guard let leader = leaders.first, let store = leader.store else {
            let roles = hosts.map {
                "\($0.name) \($0.store?.replicationState.map { "\($0.role) of \($0.epoch)" } ?? "") \($0.activity)"
            }
            return Finding("nobody leads: \(reasons)", roles.joined(separator: ", "))
        }
        guard leaders.count == 1 else {
            return Finding("two lead", leaders.map(\.name).joined(separator: ", "))
        }
        guard leader.commit() else { return Finding("a commit fails") }
        guard store.shippedSequence == store.lastSequence else {
            return Finding(
                "the leader does not ship: \(leader.reason("replica"))",
                "\(leader.name) \(store.shippedSequence) of \(store.lastSequence)")
        }
        for host in hosts where host !== leader {
            // A deposed leader may have just as many changes, of its own, until it could save them.
            guard !host.leads, host.store?.lastSequence == store.lastSequence else {
                return Finding(
                    "a follower does not follow: \(host.reason("replica"))",
                    "\(host.name) \(host.store?.lastSequence ?? 0) of \(store.lastSequence)")
            }
        }
        for name in lost.keys.sorted() where objects[name] == nil {
            guard let (number, digest) = ShardNames.blobParts(name),
                try store.isStored(digest, number: number)
            else { continue }
            return Finding("the bucket lacks a payload that its leader has", name)
        }
        return nil
    }

    private func checkQuiet() throws {
        guard let leader = hosts.first(where: { $0.leads }) else { return }
        guard leader.expected != nil || history.contents(history.last) == nil else {
            throw Finding("the leader's contents are not known")
        }
        let digest = leader.hasDamage ? nil : try digest(of: leader)
        for host in hosts where host !== leader && !host.hasDamage && digest != nil {
            guard try self.digest(of: host) == digest else {
                throw Finding("a follower's tables are not its leader's", host.name)
            }
        }
        for index in devices.indices {
            for _ in 0..<2 {
                guard try devices[index].read(leader) else {
                    throw Finding("a cursor is ahead of its shard", "device \(index)")
                }
                devices[index].forget()
            }
        }
        for host in hosts { try checkWhole(host) }
        if swarm.has(.restoring) { try checkRestore() }
    }

    /// Reads everything of a host, as often as it takes to fetch what is evicted.
    private func readAll(_ host: Host) throws {
        var numbers = Array(0..<swarm.idCount)
        for _ in 0..<60 {
            guard host.commit() else { continue }
            numbers = try numbers.filter { try !read($0, of: host) }
            guard !numbers.isEmpty else { return }
            clock += 1_000
            for _ in 0..<20 where !host.wanted.isEmpty {
                host.wake("fetches")
                try runDue(countMax: 10)
            }
        }
        throw Finding("an evicted payload is not served: \(host.reason("fetches"))", host.name)
    }

    /// Of all that every host has alike.
    private func digest(of host: Host) throws -> Digest {
        var hash = SHA256()
        do {
            try host.store?.writeBase(asOf: Timestamp(milliseconds: Self.start)) { hash.update($0) }
        } catch {
            throw Finding("a base cannot be written: \(Host.words("\(error)"))", host.name)
        }
        return Digest(hash.digest())
    }

    /// Restores batches that are within the retention, and compares them.
    private func checkRestore() throws {
        let bucket = SimulatedBucket(hosts[0])
        guard firstRestorable <= history.last else { return }
        let bound = restorableSince
        let oldest =
            history.batches.firstIndex { $0.milliseconds >= bound } ?? history.batches.count - 1
        let first = max(firstRestorable, UInt64(oldest + 1))
        var targets = [history.last]
        // What was lost and deleted before the next base is nowhere.
        if first < history.last, lost.isEmpty {
            targets.append(first)
            targets.append(first + UInt64(chance.below(Int(history.last - first))))
        }
        for target in targets where target > 0 {
            guard let contents = history.contents(target) else { continue }
            let folder = "\(folder)/restored"
            sim_folder_replace(folder, nil)
            var options = hosts[0].options
            options.quotas = Quotas()
            do {
                let restored = try Restorer(.sequence(target), options: options, asOf: hosts[0].now)
                    .restore(to: folder, from: bucket)
                guard restored.sequence == target else {
                    throw Finding("a restore ends elsewhere")
                }
            } catch let finding as Finding {
                throw finding
            } catch {
                // What was lost, and deleted before it was uploaded again, is nowhere: every restore that begins
                // with an older base needs it, and names it.
                if lost.keys.contains(where: { objects[$0] == nil && "\(error)".contains($0) }) {
                    sometimes("a restore needs what was lost and deleted")
                    continue
                }
                throw Finding(
                    "a batch cannot be restored: \(Host.words("\(error)"))", "\(target): \(error)")
            }
            let store = try BlobStore.openReadOnly(at: folder)
            for device in devices { try device.checkRestored(store) }
            for number in contents.indices
            where try !finds(number, contents[number], in: store, at: hosts[0].now) {
                throw Finding("a restored store is not what it was", "\(target): n\(number)")
            }
            sometimes("restored a batch")
        }
    }
}

extension Host {
    /// Whether payloads are damaged here: by a bit of this disk, or in the base that the store was made of.
    fileprivate var hasDamage: Bool {
        !damaged.isEmpty || store?.quarantinedBlobs.isEmpty == false
    }

    /// Why a task does not get on, without numbers.
    func reason(_ task: String) -> String { Self.words(errors[task] ?? "") }

    static func words(_ text: String) -> String {
        let words = text.split(separator: " ").map { word in
            word.contains("/") || word.contains("sha256:") ? "…" : word.filter { !$0.isNumber }
        }
        return String(words.joined(separator: " ").prefix(110))
    }
}
