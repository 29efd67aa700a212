import BlobStore
import Replication
import TestSupport

// What clients do, to any host that is up.

extension World {
    /// One operation of a client.
    func operate() throws {
        let up = hosts.filter { $0.isUp && $0.store != nil }
        guard !up.isEmpty else { return }
        countOperation()
        let leaders = up.filter { $0.takesChanges }
        if !leaders.isEmpty, chance.chance(70) {
            let host = leaders[chance.below(leaders.count)]
            try change(host)
        } else {
            let host = up[chance.below(up.count)]
            if swarm.has(.readers), chance.chance(40) {
                try readSlowly(host)
            } else if !devices.isEmpty, chance.chance(40) {
                let index = chance.below(devices.count)
                if chance.chance(20) { devices[index].forget() }
                try devices[index].read(host)
            } else {
                try read(chance.below(swarm.idCount), of: host)
            }
        }
    }

    /// A slow client begins, or one that began earlier looks at its bytes.
    private func readSlowly(_ host: Host) throws {
        if host.readers.count < 2, let reader = try Reader.begin(host, &chance) {
            host.readers.append(reader)
        } else if !host.readers.isEmpty {
            var reader = host.readers.removeFirst()
            if chance.chance(50), reader.takeLease() {
                sometimes("a lease in an old snapshot")
                host.readers.append(reader)
            } else {
                try reader.finish(host)
            }
        }
    }

    // MARK: - Changes

    func change(_ host: Host) throws {
        if swarm.has(.backlog), reached["backlog"] == nil, chance.chance(4) {
            sometimes("backlog")
            awayUntil = max(awayUntil, isSafe ? 0 : clock + 30_000)
            for _ in 0..<1_200 where host.takesChanges && host.isUp {
                try apply([anyChange(host, isShort: true)], to: host, isAwaited: false)
            }
            return
        }
        if swarm.has(.bulk), reached["bulk"] == nil, chance.chance(8) {
            // More than a follower that was away holds in memory at once.
            sometimes("bulk")
            for other in hosts where other !== host {
                other.pausedUntil = max(other.pausedUntil, clock + 9_000)
            }
            for content in 0..<PayloadContents.bulkCount where host.takesChanges && host.isUp {
                try apply(
                    [publish(content, chance.below(swarm.idCount), host)], to: host,
                    isAwaited: false)
            }
            return
        }
        let mayVanish = swarm.has(.upkeep) && swarm.retentionMilliseconds < 10_000_000 && !isSafe
        if mayVanish, chance.below(60) == 0 { return try letPayloadVanish(host) }
        if swarm.has(.logging), chance.chance(6) {
            // So many bytes that the log has the places of the payloads alone.
            sometimes("changes too long for the log")
            let planned = try (0..<8).map { _ in
                try publish(
                    PayloadContents.medium(chance.below(400)), chance.below(swarm.idCount), host)
            }
            try apply(planned, to: host, isAwaited: chance.chance(50))
            return
        }
        let count = swarm.has(.parts) && chance.chance(20) ? 2 + chance.below(5) : 1
        try apply(
            (0..<count).map { _ in try anyChange(host, isShort: false) }, to: host,
            isAwaited: chance.chance(50))
    }

    /// A long payload comes and goes; a base of the moment after that is made before it is shipped; and then so much
    /// time passes that older bases and the payload are collected. All others stand still meanwhile, some at exactly the
    /// segment of that base: what follows it there names a payload that is gone.
    private func letPayloadVanish(_ host: Host) throws {
        sometimes("a payload vanished")
        // Nothing fails meanwhile: all of these steps are needed.
        let wasSafe = isSafe
        isSafe = true
        defer { isSafe = wasSafe }
        let (retention, number) = (swarm.retentionMilliseconds, chance.below(swarm.idCount))
        func run(_ name: String, of host: Host, _ count: Int) throws {
            for _ in 0..<count where host.isUp {
                for task in host.tasks where task.name == name { try host.run(task) }
            }
        }
        if chance.chance(70), host.commit() {
            try run("replica", of: host, 3)
            for other in hosts where other !== host { try run("replica", of: other, 4) }
        }
        for other in hosts where other !== host {
            other.pausedUntil = max(other.pausedUntil, clock + retention * 2)
        }
        // It may have found out that another one leads.
        guard host.isUp, host.takesChanges else { return }
        // The next base is due.
        clock += retention / 3
        operation += 1
        let long = try publish(PayloadContents.long(chance.below(400)), number, host)
        try apply([long], to: host, isAwaited: false)
        let deletion: Planned = (
            .delete(id: "n\(number)"), { contents, _ in contents[number] = nil }
        )
        try apply([deletion], to: host, isAwaited: false)
        guard host.isUp, host.commit() else { return }
        try run("upkeep", of: host, 8)
        // From base to base counts one interval: that one is the oldest of the retention after three, or four.
        for _ in 0..<(retention % 3 == 0 ? 3 : 4) {
            clock += retention / 3
            try run("replica", of: host, 2)
            try run("upkeep", of: host, 20)
        }
        try checkFollowers(of: host)
    }

    /// Throws where a follower waits for a payload that no longer exists, with nothing else in its way.
    private func checkFollowers(of leader: Host) throws {
        for other in hosts where other !== leader && other.life == .up && !other.leads {
            other.pausedUntil = clock
            // What it said before may have been the bucket's fault.
            other.errors["replica"] = nil
            for _ in 0..<8 where other.isUp {
                for task in other.tasks where task.name == "replica" { try other.run(task) }
            }
            let words = (other.errors["replica"] ?? "").split(separator: " ").map(String.init)
            guard let name = words.first(where: { $0.hasPrefix(ShardNames.blobPrefix) }),
                words.contains("missing,"), objects[name] == nil
            else { continue }
            throw Finding("a follower waits for a payload that is gone", "\(other.name): \(name)")
        }
    }

    /// Publishes a payload again, when its object has been lost for as long as a leader may not notice.
    func publishAgain(_ digest: Digest, to host: Host) throws {
        let content = (0..<swarm.contentCount).first {
            PayloadContents.digest($0, isBulk: swarm.has(.bulk)) == digest
        }
        guard let content else { return }
        clock += Int64(ReplicationLimits.seenBlobMilliseconds)
        operation += 1
        let planned = try publish(content, chance.below(swarm.idCount), host)
        try apply([planned], to: host, isAwaited: true)
    }

    private func anyChange(_ host: Host, isShort: Bool) throws -> Planned {
        operation += 1
        let (operation, number) = (
            operation, chance.below(isShort ? min(5, swarm.idCount) : swarm.idCount)
        )
        let id = "n\(number)"
        let kind = chance.below(100)
        if kind < 12, !isShort {
            return (.delete(id: id), { contents, _ in contents[number] = nil })
        }
        if kind < 24, swarm.has(.patches), !isShort {
            var patch = NotificationPatch(id: id)
            let isRead = chance.chance(50)
            patch.isRead = .set(isRead)
            patch.message = .set("op-\(operation)")
            return (
                .patch(patch),
                { contents, now in
                    guard var version = contents[number], version.expiresAt > now else { return }
                    version.operation = operation
                    version.isRead = isRead
                    contents[number] = version
                }
            )
        }
        if kind < 40, swarm.has(.parts), !isShort { return try draft(number, host) }
        return try publish(anyContent(), number, host)
    }

    private func anyContent() -> Int {
        let content = chance.below(swarm.contentCount)
        return swarm.has(.bulk) && content < PayloadContents.bulkCount
            ? content + PayloadContents.bulkCount : content
    }

    private func anyOwner() -> Int? {
        swarm.has(.owners) || swarm.has(.feeds) ? chance.below(3) : nil
    }

    private func anyEnd(_ host: Host) -> Timestamp {
        // Hosts whose clocks differ do not agree on what has expired.
        let isSoon = swarm.has(.expiry) && !swarm.has(.clockJump) && chance.chance(30)
        // Others stay: a host that waits for room, an hour at a time, lets half a year pass.
        return host.now.adding(
            seconds: isSoon ? Int64(chance.logarithmic(1...5_000)) : 10 * 365 * 86_400)
    }

    func publish(_ content: Int, _ number: Int, _ host: Host) throws -> Planned {
        let (operation, owner, expiresAt) = (operation, anyOwner(), anyEnd(host))
        let part = swarm.has(.parts) && chance.chance(30) ? "icon" : "payload"
        var publication = Publication(
            id: "n\(number)", part: part, payload: try payload(content, in: host),
            message: "op-\(operation)", expiry: .at(expiresAt))
        publication.owner = owner.map { "owner-\($0)" }
        return (
            .publish(publication),
            { contents, now in
                let live = contents[number].flatMap { $0.expiresAt > now ? $0 : nil }
                var version =
                    live ?? Version(operation: 0, owner: nil, parts: [:], expiresAt: expiresAt)
                version.operation = operation
                version.owner = owner ?? version.owner
                version.parts[part] = content
                version.expiresAt = expiresAt
                contents[number] = version
            }
        )
    }

    /// A whole notification with several parts.
    private func draft(_ number: Int, _ host: Host) throws -> Planned {
        let (operation, owner, expiresAt) = (operation, anyOwner(), anyEnd(host))
        var draft = NotificationDraft(id: "n\(number)", expiry: .at(expiresAt))
        draft.owner = owner.map { "owner-\($0)" }
        draft.message = "op-\(operation)"
        var parts: [String: Int] = [:]
        for name in ["payload", "icon", "sound"].prefix(1 + chance.below(3)) {
            let content = anyContent()
            parts[name] = content
            draft.parts.append(
                DraftPart(
                    name: name, mediaType: "image/png",
                    content: .payload(try payload(content, in: host))))
        }
        let version = Version(
            operation: operation, owner: owner, parts: parts, expiresAt: expiresAt)
        return (.publishNotification(draft), { contents, _ in contents[number] = version })
    }

    private func payload(_ content: Int, in host: Host) throws -> PreparedPayload {
        guard let store = host.store else { throw TestFailure("the host has no store") }
        var writer = store.makePayloadWriter()
        try writer.append(
            PayloadContents.bytes(content, isBulk: swarm.has(.bulk)).span.bytes)
        return try writer.finish(mediaType: content % 10 == 3 ? "text/plain" : "image/png")
    }

    /// Does changes together, as the writer's thread does.
    ///
    /// - Parameter isAwaited: whether the client waits for the bucket.
    func apply(_ planned: [Planned], to host: Host, isAwaited: Bool) throws {
        guard let store = host.store, host.isUp, let timeline = host.timeline else { return }
        enter(host)
        let now = host.now
        host.inFlight = InFlight(
            before: timeline.contents ?? timeline.first, effects: planned.map(\.effect), time: now)
        let before = store.lastSequence
        let outcomes: [Outcome]
        do {
            outcomes = try store.apply(
                checked: planned.map { (plan) throws(StoreError) in
                    try CheckedChange(plan.change, asOf: now)
                }, asOf: now, freeing: chance.chance(30) ? 8 << 20 : 0,
                bootMilliseconds: clock)
            if swarm.has(.commits) {
                // What follows comes while what was there before is being committed.
                if chance.chance(10) { try store.beginCheckpoint() }
                if host.wantsCommit || chance.chance(10) {
                    host.wantsCommit = false
                    try store.checkpoint()
                }
            }
        } catch {
            trace("\(host.name) a change fails: \(error)")
            host.kill()
            return
        }
        // Nobody is answered by a process that is dead.
        guard !host.disk.isFrozen else { return host.settle() }
        var contents = timeline.contents ?? timeline.first
        // After each batch: a segment may end with any of them.
        var steps: [Contents] = []
        var done: [Planned] = []
        for (plan, outcome) in zip(planned, outcomes) {
            switch outcome {
            case .refused(let error): try checkRefusal(error, by: host)
            case .notFound: break
            default:
                plan.effect(&contents, now)
                steps.append(contents)
                done.append(plan)
            }
        }
        trace("\(host.name) \(before)→\(store.lastSequence): \(outcomes.count) changes")
        if before == host.timeline?.last, before + UInt64(steps.count) == store.lastSequence {
            for (index, contents) in steps.enumerated() {
                host.append(
                    upTo: before + UInt64(index + 1), contents, isAcknowledged: true)
            }
        }
        host.append(upTo: store.lastSequence, contents, isAcknowledged: true)
        host.inFlight = nil
        let last = store.lastSequence
        if isAwaited, let batch = host.timeline?.batch(last) {
            let hasEffect = !steps.isEmpty
            host.waiters.append(
                Waiter(
                    sequence: last, stamp: batch.stamp, begunAt: clock,
                    objects: try lostObjects(done, of: store),
                    position: hasEffect ? nil : history.position,
                    segment: hasEffect ? .none : .next))
        }
        host.wake("replica", in: 1)
        host.wake("commits", in: Int64(chance.below(100)))
        host.settle()
    }

    /// Objects that the bucket lost long ago, of payloads that are published again.
    private func lostObjects(_ done: [Planned], of store: BlobStore) throws -> [String] {
        // A leader trusts for some minutes that it has seen an object, by its own clock.
        let end = clock - Int64(ReplicationLimits.seenBlobMilliseconds)
        guard reached["set a clock"] == nil else { return [] }
        let digests = done.compactMap { plan in
            if case .publish(let publication) = plan.change {
                publication.payload.digest
            } else {
                nil
            }
        }
        let names = try lost.keys.sorted().filter { name in
            guard lost[name, default: clock] <= end, objects[name] == nil,
                let (number, digest) = ShardNames.blobParts(name)
            else { return false }
            return try digests.contains(digest) && store.isStored(digest, number: number)
        }
        if !names.isEmpty { sometimes("published again what the bucket had lost") }
        return names
    }

    private func checkRefusal(_ error: StoreError, by host: Host) throws {
        sometimes("refused a change")
        switch error {
        case .full where host.isFull: break
        case .full:
            let figures = try host.store?.statistics()
            throw Finding(
                "a change is refused without need: \(error)",
                "\(host.name): \(figures.map { "\($0)" } ?? "")")
        case .quotaExceeded where swarm.has(.quotas): break
        case .emptyNotification: break
        case .corrupt where !host.damaged.isEmpty: break
        default: throw Finding("a change is refused: \(error)", host.name)
        }
    }
}
