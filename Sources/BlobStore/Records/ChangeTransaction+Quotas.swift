internal import Bytes
internal import LMDB

// Quotas are compared with the counters in the transaction that makes a change: the sum never passes a limit.

extension ChangeTransaction {
    /// Throws ``StoreError/quotaExceeded(_:)`` where a part makes the store or its owner pass a quota. `old`: the
    /// notification that is there, expired or not.
    borrowing func checkQuotas(
        _ publication: Publication, _ old: Record?, isLive: Bool
    ) throws(StoreError) {
        guard quotas.isAny else { return }
        var effect = QuotaEffect(old, owner: publication.owner ?? (isLive ? old?.owner : nil))
        effect.add(publication.payload)
        for part in old?.parts ?? [] {
            if isLive, !part.isNamed(publication.part) {
                effect.byteCount += part.byteCount
            } else {
                effect.remove(part.blob)
            }
        }
        try check(effect)
    }

    borrowing func checkQuotas(
        _ draft: NotificationDraft, _ old: Record?
    ) throws(StoreError) {
        guard quotas.isAny else { return }
        var effect = QuotaEffect(old, owner: draft.owner)
        for part in draft.parts {
            switch part.content {
            case .payload(let payload): effect.add(payload)
            case .stored(let digest):
                guard let entry = try blobEntry(digest) else { continue }
                effect.add(entry.blob)
            }
        }
        for part in old?.parts ?? [] { effect.remove(part.blob) }
        try check(effect)
    }

    private borrowing func check(_ effect: QuotaEffect) throws(StoreError) {
        try counters.check(
            quotas, freeDiskByteCount: freeDiskByteCount,
            storedGrowth: quotas.needsStoredByteCount ? try storedGrowth(effect) : 0,
            notificationGrowth: effect.isNew ? 1 : 0)
        guard quotas.needsOwner, let owner = effect.owner else { return }
        let usage = try usage(of: owner)
        try quotas.check(
            .ownerNotificationCountMax, quotas.ownerNotificationCountMax,
            used: usage.notifications, growth: effect.isNewToOwner ? 1 : 0)
        try quotas.check(
            .ownerByteCountMax, quotas.ownerByteCountMax, used: usage.bytes,
            growth: effect.byteCount - (effect.isNewToOwner ? 0 : effect.oldByteCount))
    }

    /// By how much the stored bytes of all blobs grow. One lookup for each digest.
    private borrowing func storedGrowth(_ effect: QuotaEffect) throws(StoreError) -> Int {
        var growth = 0
        for (digest, change) in effect.blobs {
            guard let entry = try blobEntry(digest) else {
                growth += change.storedByteCount
                continue
            }
            // Those to a damaged blob of the same bytes are not counted here.
            let removed = change.removed.count { $0 == entry.number }
            let isLast = Int(clamping: entry.referenceCount) + change.added - removed <= 0
            if isLast, entry.heldUntil == nil { growth -= entry.blob.storedByteCount }
        }
        return growth
    }
}

/// What a publish makes of the counts that have quotas.
private struct QuotaEffect {
    let owner: String?
    /// Whether there was none, not even an expired one.
    let isNew: Bool
    let isNewToOwner: Bool
    let oldByteCount: Int
    var byteCount = 0
    /// How many references each blob gets, which it loses, by blob number, and what it takes if it is not
    /// stored.
    private(set) var blobs: [Digest: (added: Int, removed: [UInt64], storedByteCount: Int)] = [:]

    init(_ old: Record?, owner: String?) {
        self.owner = owner
        isNew = old == nil
        isNewToOwner = owner == nil || old?.owner == nil || !(old?.owner.isSame(as: owner) ?? false)
        oldByteCount = old?.byteCount ?? 0
    }

    mutating func add(_ payload: PreparedPayload) {
        byteCount += payload.byteCount
        add(payload.digest, payload.storedByteCount)
    }

    mutating func add(_ blob: BlobReference) {
        byteCount += blob.byteCount
        add(blob.digest, blob.storedByteCount)
    }

    mutating func remove(_ blob: BlobReference) {
        blobs[blob.digest, default: (0, [], 0)].removed.append(blob.number)
    }

    /// The first of several payloads of one digest is the one that is stored.
    private mutating func add(_ digest: Digest, _ storedByteCount: Int) {
        blobs[digest, default: (0, [], storedByteCount)].added += 1
    }
}
