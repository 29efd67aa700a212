import BlobStore
import TestSupport

/// A device that keeps a copy of its owner's notifications by reading the feed from any host: one that leads, that led,
/// or that is behind. Whatever it has seen before, it gets all that it missed, or `resync`.
struct Device {
    /// What it knows: how far it has read, and by id the revision of the last change.
    private struct State {
        var cursor: [UInt8]?
        var copy: [String: UInt64] = [:]
    }

    let number: Int
    private var state = State()
    /// What it knew a while ago: a device is switched off for days, and an app is restored from a backup.
    private var old = State()

    init(number: Int) { self.number = number }

    var owner: String { "owner-\(number % 3)" }

    /// Continues with what it knew a while ago.
    mutating func forget() { state = old }

    /// Reads all that a host has, and compares it with that host's store.
    ///
    /// - Returns: false where that is less than the device has seen already.
    @discardableResult
    mutating func read(_ host: Host) throws -> Bool {
        guard let store = host.store else { return false }
        let bytes = Array(owner.utf8)
        for _ in 0..<100 {
            var start = FeedStart.beginning
            do {
                if let text = state.cursor {
                    guard
                        let found = try store.feedCursor(text.span.bytes, owner: bytes.span.bytes)
                    else { throw Finding("a cursor of this shard is refused", "by \(host.name)") }
                    let revision = try store.withSnapshot { (snapshot) throws(StoreError) in
                        try snapshot.lastRevision()
                    }
                    // What is only in the log is committed first.
                    if found.position > revision, store.pendingChanges.isPending {
                        guard host.commit() else { return false }
                        continue
                    }
                    // A follower may be behind. What a leader does not have was another copy's.
                    if found.position > revision, !host.leads { return false }
                    start = .after(found)
                } else {
                    state.copy = [:]
                }
                let page = try store.changes(of: owner, from: start, limit: 7)
                for change in page.changes {
                    state.copy[change.id] = change.record == nil ? nil : change.revision
                }
                var text: [UInt8] = []
                page.next.append(owner: bytes.span.bytes, store: store.id, to: &text)
                state.cursor = text
                if !page.hasMore {
                    try check(host, store)
                    if host.world.chance.chance(20) { old = state }
                    return true
                }
            } catch StoreError.resync {
                host.world.sometimes("resync")
                state.cursor = nil
            }
        }
        throw Finding("a feed has no end", "\(host.name)")
    }

    /// Throws unless the copy is what the owner has on a host.
    private func check(_ host: Host, _ store: BlobStore) throws {
        var truth: [String: UInt64] = [:]
        for number in 0..<host.world.swarm.idCount {
            guard let record = try store.record(for: "n\(number)", asOf: host.now),
                record.owner == owner
            else { continue }
            truth[record.id] = record.revision
        }
        let live = state.copy.filter { truth[$0.key] != nil || !host.world.swarm.has(.expiry) }
        guard live == truth else {
            throw Finding(
                "a device missed a change",
                "\(number) has \(live.sorted { $0.key < $1.key }) of \(truth.sorted { $0.key < $1.key }) of \(host.name)"
            )
        }
    }

    /// Throws unless a store that was restored refuses the cursor: its history is another one from there on.
    func checkRestored(_ store: BlobStore) throws {
        guard let text = state.cursor else { return }
        let bytes = Array(owner.utf8)
        do {
            _ = try store.feedCursor(text.span.bytes, owner: bytes.span.bytes)
        } catch StoreError.resync { return }
        throw Finding("a restored store does not answer an older cursor with resync")
    }
}
