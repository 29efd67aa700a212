import BlobStore

/// A device that keeps a copy of its owner's notifications by reading the feed from any host.
struct Device {
    let number: Int
    private var cursor: [UInt8]?
    /// By id: the revision of the last change.
    private var copy: [String: UInt64] = [:]

    init(number: Int) { self.number = number }

    var owner: String { "owner-\(number % 3)" }

    /// Reads what a host has.
    ///
    /// - Returns: false where that is less than the device has seen already.
    @discardableResult
    mutating func read(_ host: Host) throws -> Bool {
        guard let store = host.store else { return false }
        let bytes = Array(owner.utf8)
        for _ in 0..<100 {
            var start = FeedStart.beginning
            do {
                if let text = cursor {
                    guard
                        let found = try store.feedCursor(text.span.bytes, owner: bytes.span.bytes)
                    else { throw Finding("a cursor of this shard is refused", "by \(host.name)") }
                    let revision = try store.withSnapshot { (snapshot) throws(StoreError) in
                        try snapshot.lastRevision()
                    }
                    // What is in the log alone is committed first.
                    if found.position > revision, store.pendingChanges.isPending {
                        guard host.commit() else { return false }
                        continue
                    }
                    // A follower may be behind. What a leader does not have was another copy's.
                    if found.position > revision, !host.leads { return false }
                    start = .after(found)
                } else {
                    copy = [:]
                }
                let page = try store.changes(of: owner, from: start, limit: 7)
                for change in page.changes {
                    copy[change.id] = change.record == nil ? nil : change.revision
                }
                var text: [UInt8] = []
                page.next.append(owner: bytes.span.bytes, store: store.id, to: &text)
                cursor = text
                if !page.hasMore { return true }
            } catch StoreError.resync {
                host.world.sometimes("resync")
                cursor = nil
            }
        }
        throw Finding("a feed has no end", "\(host.name)")
    }

    /// Throws unless the copy is what the owner has.
    func check(_ host: Host) throws {
        guard let store = host.store else { return }
        var truth: [String: UInt64] = [:]
        for number in 0..<host.world.swarm.idCount {
            guard let record = try store.record(for: "n\(number)", asOf: host.now),
                record.owner == owner
            else { continue }
            truth[record.id] = record.revision
        }
        let live = copy.filter { truth[$0.key] != nil || !host.world.swarm.has(.expiry) }
        guard live == truth else {
            throw Finding(
                "a device missed a change",
                "\(number) has \(copy.sorted { $0.key < $1.key }) of \(truth.sorted { $0.key < $1.key })"
            )
        }
    }
}
