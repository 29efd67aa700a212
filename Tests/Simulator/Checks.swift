import BlobStore
import Replication
import SimulatedSystem
import TestSupport

// What is compared with the model.

extension World {
    /// After each event: a look at some notifications of all hosts.
    func check() throws {
        try throwPending()
        for host in hosts where host.isUp && host.store != nil {
            if chance.chance(30) { _ = try read(chance.below(swarm.idCount), of: host) }
        }
    }

    /// Reads a notification with all its parts, and compares it.
    ///
    /// - Returns: whether all of it was there; what is evicted is asked for.
    @discardableResult
    func read(_ number: Int, of host: Host) throws -> Bool {
        guard let store = host.store, host.isUp else { return false }
        enter(host)
        if store.pendingChanges.isPending {
            // It is found all the same. Now and then another process asks for its commit.
            sometimes("read what is not committed")
            if chance.chance(25) {
                if swarm.has(.commits) {
                    host.wantsCommit = true
                } else {
                    guard host.commit() else { return false }
                }
            }
        }
        guard let contents = host.expected else { return true }
        if chance.chance(20) { try readByDigest(host, contents) }
        let version = contents[number].flatMap { $0.expiresAt > host.now ? $0 : nil }
        let record: Record?
        do throws(StoreError) {
            record = try store.record(for: "n\(number)", asOf: host.now)
        } catch {
            throw Finding("a record cannot be read: \(error)", "\(host.name) n\(number)")
        }
        guard let version else {
            guard record == nil else {
                throw Finding(
                    "what was deleted is there", "\(host.name) n\(number) at \(store.lastSequence)")
            }
            let bytes = try? store.ownedPayload(for: "n\(number)", asOf: host.now)
            guard bytes == nil else {
                throw Finding(
                    "what has expired or was deleted is served", "\(host.name) n\(number)")
            }
            return true
        }
        guard let record else {
            throw Finding(
                "what was published is gone",
                "\(host.name) n\(number) of op-\(version.operation) at \(store.lastSequence)")
        }
        guard isSame(record, version) else {
            throw Finding(
                "a notification is not what it was made",
                "\(host.name) n\(number) is \(record.message ?? "?") of \(record.parts.map(\.name)), and should be op-\(version.operation) of \(version.parts)"
            )
        }
        var isWhole = true
        for (part, content) in version.parts.sorted(by: { $0.key < $1.key }) {
            if try !readPart(part, content, of: number, host) { isWhole = false }
        }
        return isWhole
    }

    /// - Returns: false where it is evicted.
    private func readPart(
        _ part: String, _ content: Int, of number: Int, _ host: Host
    ) throws -> Bool {
        guard let store = host.store else { return false }
        let place = "\(host.name) n\(number)/\(part) of content \(content) at \(store.lastSequence)"
        let bytes: [UInt8]?
        do throws(StoreError) {
            bytes = try store.ownedPayload(for: "n\(number)", part: part, asOf: host.now)
        } catch {
            switch error {
            case .evicted(let blob) where mayBeEvicted:
                sometimes("read what is evicted")
                host.want(blob)
                // What was damaged before it was shipped is nowhere.
                return damaged.contains(content) && objects[ShardNames.blob(blob)] == nil
            case .corrupt where damaged.contains(content): sometimes("read what is damaged")
            case .corrupt(let why):
                throw Finding("a payload is refused as damaged", "\(place): \(why)")
            default: throw Finding("a payload cannot be read: \(error)", place)
            }
            return true
        }
        guard let bytes else { throw Finding("a part is gone", place) }
        guard bytes == PayloadContents.bytes(content, isBulk: swarm.has(.bulk)) else {
            throw Finding("wrong bytes", place)
        }
        return true
    }

    /// Reads a content by its digest, as a link does: it is there as long as a notification that
    /// has not expired has it.
    private func readByDigest(_ host: Host, _ contents: Contents) throws {
        guard let store = host.store else { return }
        let content = chance.below(swarm.contentCount)
        let isLive = contents.contains { version in
            guard let version, version.expiresAt > host.now else { return false }
            return version.parts.values.contains(content)
        }
        let expected = PayloadContents.bytes(content, isBulk: swarm.has(.bulk))
        let digest = PayloadContents.digest(content, isBulk: swarm.has(.bulk))
        let place = "\(host.name) content \(content) at \(store.lastSequence)"
        let bytes: [UInt8]?
        do throws(StoreError) {
            bytes = try store.ownedPayload(digest: digest, asOf: host.now)
        } catch {
            switch error {
            case .evicted where isLive && mayBeEvicted: return
            case .corrupt where damaged.contains(content): return
            default: throw Finding("a digest cannot be read: \(error)", place)
            }
        }
        guard bytes != nil || !isLive || !damaged.isEmpty else {
            throw Finding("a digest is not found", place)
        }
        guard bytes == nil || isLive else {
            throw Finding("a digest is served of what has expired or was deleted", place)
        }
        guard bytes == nil || bytes == expected else { throw Finding("wrong bytes", place) }
    }

    private func isSame(_ record: Record, _ version: Version) -> Bool {
        record.message == "op-\(version.operation)" && record.parts.count == version.parts.count
            && record.owner == version.owner.map { "owner-\($0)" }
            && record.expiresAt == version.expiresAt
            && version.parts.allSatisfy { name, content in
                record.part(named: name)?.blob.digest
                    == PayloadContents.digest(content, isBulk: swarm.has(.bulk))
            }
    }

    /// Whether a store has a version of a notification.
    func finds(
        _ number: Int, _ version: Version?, in store: BlobStore, at now: Timestamp
    ) throws -> Bool {
        let record = try store.record(for: "n\(number)", asOf: now)
        let live = version.flatMap { $0.expiresAt > now ? $0 : nil }
        guard let record, let live else { return record == nil && live == nil }
        return isSame(record, live)
    }

    /// Restores a backup, now and then, and compares it with what the store had when it began.
    func checkBackup(_ backup: [UInt8], _ contents: Contents?, by host: Host) throws {
        guard let contents, chance.chance(20) else { return }
        var rest = backup[...]
        let folder = "\(folder)/backup"
        sim_folder_replace(folder, nil)
        try BlobStore.restore(to: folder, asOf: host.now) { buffer, byteCountMax in
            buffer += rest.prefix(byteCountMax)
            rest = rest.dropFirst(byteCountMax)
        }
        let store = try BlobStore.openReadOnly(at: folder)
        for number in contents.indices
        where try !finds(number, contents[number], in: store, at: host.now) {
            throw Finding("a backup is not what the store was", "\(host.name) n\(number)")
        }
        sometimes("restored a backup")
    }

    /// Everything of a host's store: each notification, each byte, each counter.
    func checkWhole(_ host: Host) throws {
        guard let store = host.store else { return }
        guard host.commit() else { return }
        for number in 0..<swarm.idCount { try read(number, of: host) }
        try checkList(host)
        let report = try store.verify()
        if let problem = report.problems.first, damaged.isEmpty {
            throw Finding(
                "verify: \(problem.filter { !$0.isNumber }.prefix(90))", "\(host.name): \(problem)")
        }
    }

    /// A list has what has not expired, and nothing else.
    private func checkList(_ host: Host) throws {
        guard let store = host.store, let contents = host.expected else { return }
        var listed: Set<String> = []
        var next: String? = ""
        while let id = next {
            let page = try store.withSnapshot { (snapshot) throws(StoreError) in
                try snapshot.records(after: id.utf8.span.bytes, limit: 5, asOf: host.now)
            }
            listed.formUnion(page.records.map(\.id))
            next = page.next
        }
        let live = contents.indices.filter { (contents[$0]?.expiresAt ?? host.now) > host.now }
        guard listed == Set(live.map { "n\($0)" }) else {
            throw Finding("a list is not what is there", "\(host.name) \(listed.sorted())")
        }
    }
}
