import BlobStore
import Replication
import SimulatedSystem
import TestSupport

// What happens to hosts and to the bucket as a whole.

extension World {
    /// Something goes wrong, or somebody turns a switch.
    func accident() throws {
        let kinds: [Swarm.Feature] = [
            .kill, .crash, .powerCut, .syncFailure, .fullDisk, .bitFlip, .clockJump, .pause,
            .promote, .force, .clone, .rollback, .lostDisk, .restart, .away, .compaction, .cutOff,
            .promoteTwo, .lostObject,
        ].filter { swarm.has($0) }
        guard !kinds.isEmpty else { return }
        let kind = kinds[chance.below(kinds.count)]
        let host = hosts[chance.below(hosts.count)]
        countAccident()
        trace("accident: \(kind) of \(host.name)")
        switch kind {
        case .kill: host.kill()
        case .crash: host.disk.freeze(atCall: 1 + chance.below(60))
        case .syncFailure: host.disk.failSync(1 + chance.below(10))
        case .powerCut: cutPower(host)
        case .restart: host.stop()
        case .fullDisk:
            host.isFull.toggle()
            host.disk.setFull(host.isFull)
        case .bitFlip: flip(host)
        case .clockJump:
            let span = Int64(chance.logarithmic(60_000...800_000_000))
            host.clockOffset = chance.chance(50) ? span : -span
            sometimes("set a clock")
        case .pause:
            host.pausedUntil = clock + Int64(chance.logarithmic(1_000...2_000_000))
        case .promote, .force:
            // One that leads may wait at another one's fence.
            guard host.isUp, !host.leads || !host.takesChanges, host.promotion == nil else {
                return
            }
            promote(host, isForced: kind == .force)
        case .promoteTwo: promoteTwo()
        case .away: awayUntil = clock + Int64(chance.logarithmic(1_000...100_000))
        case .cutOff: try cutOff(hosts.first { $0.isUp && $0.takesChanges } ?? host)
        case .clone: try clone(host)
        case .rollback: try rollBack(host)
        case .lostDisk: try loseDisk(host)
        case .compaction: try compact(host)
        case .lostObject: try loseObject()
        default: break
        }
    }

    private func promote(_ host: Host, isForced: Bool) {
        host.promotion = host.promotion ?? Promotion(isForced: isForced)
        if host.promotion?.isForced == true { mayDepose.insert(host.name) }
        host.wake("replica")
    }

    /// Two hosts are promoted at about the same time, of which one may be cut off meanwhile.
    private func promoteTwo() {
        let others = hosts.filter { $0.isUp && !$0.leads }.prefix(2)
        guard others.count == 2 else { return }
        for other in others { promote(other, isForced: false) }
        sometimes("promoted two at once")
        guard chance.chance(50) else { return }
        others[chance.below(2)].cutOffFrom = clock + Int64(chance.below(2_000))
        others[chance.below(2)].cutOffUntil = clock + Int64(chance.logarithmic(2_000...100_000))
    }

    /// A host cannot reach the bucket, and its clients reach it still: what they are told of a leader's changes may be
    /// lost when another host takes over.
    private func cutOff(_ host: Host) throws {
        host.cutOffFrom = clock
        host.cutOffUntil = clock + Int64(chance.logarithmic(5_000...200_000))
        for _ in 0..<3 where host.isUp && host.takesChanges {
            try change(host)
            // A change that fails is the end of the process.
            for index in devices.indices where host.isUp && chance.chance(50) {
                try devices[index].read(host)
            }
        }
        guard chance.chance(50), let other = hosts.first(where: { $0.isUp && !$0.leads }) else {
            return
        }
        promote(other, isForced: true)
        sometimes("took over from a leader that was cut off")
    }

    /// Without a base the bucket is not yet a copy: no disk may fork or get lost.
    private var hasBase: Bool { firstRestorable < .max }

    private func cutPower(_ host: Host) {
        host.kill()
        guard case .down = host.life else { return }
        host.bootCount += 1
        host.disk.cutPower(&chance)
        sometimes("power cut")
    }

    /// A byte of a payload turns on the disk, while nobody has it open: what is in memory is checked once.
    ///
    /// The process is stopped, and not killed before: a log that refers to damaged bytes keeps a store from being opened,
    /// as it should.
    private func flip(_ host: Host) {
        guard host.isUp else { return }
        host.stop()
        guard case .down = host.life,
            let contents = host.timeline?.contents ?? history.contents(history.last)
        else { return }
        let all = Set(contents.compactMap { $0?.parts.values }.flatMap { $0 })
            // Others are stored compressed, or too short to be found.
            .filter {
                $0 % 10 != 3 && PayloadContents.byteCount($0, isBulk: swarm.has(.bulk)) > 100
            }
            .sorted()
        guard !all.isEmpty else { return }
        let content = all[chance.below(all.count)]
        let bytes = PayloadContents.bytes(content, isBulk: swarm.has(.bulk))
        let place = chance.below(bytes.count - 64)
        let count = bytes[place..<place + 32].withUnsafeBufferPointer {
            sim_file_flip("\(host.disk.folder)/data.mdb", $0.baseAddress, $0.count)
        }
        guard count > 0 else { return }
        host.damaged.insert(content)
        damaged.insert(content)
        sometimes("flipped a bit")
    }

    /// A second machine starts with a copy of the first one's disk.
    private func clone(_ host: Host) throws {
        guard hasBase, hosts.count < min(4, Int(SIM_HOST_MAX)), host.frames == 0 else { return }
        let copy = try Host(
            self, "h\(hosts.count)", number: hosts.count, mayBegin: host.settings.mayBegin,
            copying: host)
        hosts.append(copy)
        sometimes("cloned a host")
    }

    /// The disk of a machine becomes what it was when it was copied.
    private func rollBack(_ host: Host) throws {
        let copy = "\(folder)/\(host.name).copy"
        guard hasBase, host.frames == 0 else { return }
        if host.snapshot == nil || chance.chance(40) {
            try host.disk.copy(to: copy)
            host.snapshot = (host.timeline, host.damaged, host.inFlight)
            return
        }
        host.kill()
        guard case .down = host.life, let snapshot = host.snapshot else { return }
        try host.disk.replace(by: copy)
        host.timeline = snapshot.timeline
        host.damaged = snapshot.damaged
        host.inFlight = snapshot.inFlight
        sometimes("rolled back a disk")
    }

    private func loseDisk(_ host: Host) throws {
        // The last copy that is not in the bucket is never taken.
        host.kill()
        guard case .down = host.life, hasBase else { return }
        try host.disk.replace(by: nil)
        host.settings.mayBegin = false
        host.timeline = nil
        host.damaged = []
        host.inFlight = nil
        host.snapshot = nil
        sometimes("lost a disk")
    }

    /// `blobd compact`, on a stopped store.
    private func compact(_ host: Host) throws {
        host.stop()
        guard case .down = host.life, Files.exists("\(host.disk.folder)/data.mdb") else { return }
        host.disk.thaw()
        do {
            _ = try BlobStore.compact(
                at: host.disk.folder, options: host.options, asOf: host.now)
            sometimes("compacted")
        } catch StoreError.corrupt(let why) where damaged.isEmpty {
            throw Finding("compaction finds damage in a sound store", "\(host.name): \(why)")
        } catch {
            sometimes("a compaction failed")
            trace("\(host.name) compact: \(error)")
        }
        host.disk.freeze()
    }

    /// The bucket loses a long payload that its leader has.
    private func loseObject() throws {
        guard let host = hosts.first(where: { $0.isUp && $0.takesChanges }), let store = host.store
        else { return }
        let names = try objects.bytes.keys.sorted().filter { name in
            guard let blob = ShardNames.blobParts(name) else { return false }
            return try store.isStored(blob.digest, number: blob.number)
        }
        guard !names.isEmpty else { return }
        let name = names[chance.below(names.count)]
        objects.delete(name)
        lost[name] = clock
        trace("the bucket loses \(name)")
        sometimes("lost an object")
        if let blob = ShardNames.blobParts(name), chance.chance(50) {
            try publishAgain(blob.digest, to: host)
        }
    }
}
