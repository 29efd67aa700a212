internal import BlobJSON
internal import LMDB

// What changes cost a transaction, about: how many share one is decided before it begins.

extension Change {
    /// In pages of this length; where a store's are longer, all of it is as much more.
    static let reckonedPageByteCount = 4_096
    /// Pages of records, entries and branches that a change may copy, besides its chunks.
    static let bookkeepingByteCount = 32 << 10
    /// How many of these bytes are not copies of pages that are there.
    static let addedByteCount = 8 << 10
    private static let bookkeepingPutCount = 8
    /// What the log has of a change besides its payload, about.
    static let loggedByteCount = 1 << 10
    /// Of an owner's entries: its leaf and those of the group, of the tombstone and of what it has, with
    /// branches.
    private static let ownerByteCount = 20 << 10
    private static let ownerPutCount = 7
    /// Of a line that tells an owner of a category's edit: the owner's leaf, that of the finder and
    /// of the end, with branches.
    static let categoryLineByteCount = 16 << 10
    /// Of each part beyond the first: its blob's entry, which may be anywhere in its table.
    private static let partByteCount = 8 << 10
    private static let partPutCount = 3

    /// Whether it is refused when there is no room. Others live on the reserve, and give more than
    /// they take.
    var needsRoom: Bool {
        switch self {
        case .publish, .publishNotification, .patch, .respond, .hold, .setCategory: true
        case .delete, .remove, .removeCategory: false
        }
    }

    func forEachPayload(_ body: (PreparedPayload) -> Void) {
        switch self {
        case .publish(let publication): body(publication.payload)
        case .hold(let hold): body(hold.payload)
        case .publishNotification(let draft):
            for part in draft.parts {
                if case .payload(let payload) = part.content { body(payload) }
            }
        case .delete, .patch, .remove, .respond, .setCategory, .removeCategory: break
        }
    }

    /// Whether its blobs together are large enough to be written ahead.
    var isStaged: Bool {
        var byteCount = 0
        forEachPayload { byteCount += $0.storedByteCount }
        return byteCount > StoreLimits.stagedByteCountMin
    }

    /// Those of its payloads that are written ahead where it ``isStaged``: the short ones among
    /// many come with the change.
    var stagedPayloads: [PreparedPayload] {
        var payloads: [PreparedPayload] = []
        forEachPayload { payload in
            if payload.storedByteCount > StoreLimits.stagedPartByteCountMin {
                payloads.append(payload)
            }
        }
        return payloads
    }

    var bookkeepingCost: (puts: Int, bytes: Int) {
        switch self {
        case .publish(let publication):
            Self.cost(
                parts: 0, hasOwner: publication.owner != nil || publication.app != nil,
                textByteCount: 0)
        case .publishNotification(let draft):
            Self.cost(
                parts: draft.parts.count, hasOwner: draft.owner != nil,
                textByteCount: draft.details.data?.bytes.count ?? 0)
        case .hold, .setCategory, .removeCategory:
            Self.cost(parts: 0, hasOwner: false, textByteCount: 0)
        case .patch, .respond:
            // The record that is there may be as long as one can be.
            Self.cost(
                parts: 0, hasOwner: true, textByteCount: StoreLimits.dataByteCountMax)
        case .delete, .remove:
            // Each of its parts may be one that goes.
            (
                StoreLimits.partCountMax * 2 + Self.ownerPutCount,
                Self.bookkeepingByteCount + Self.ownerByteCount
            )
        }
    }

    private static func cost(
        parts: Int, hasOwner: Bool, textByteCount: Int
    ) -> (puts: Int, bytes: Int) {
        var cost = (puts: bookkeepingPutCount, bytes: bookkeepingByteCount + textByteCount)
        cost.puts += parts * partPutCount
        cost.bytes += parts * partByteCount
        if hasOwner {
            cost.puts += ownerPutCount
            cost.bytes += ownerByteCount
        }
        return cost
    }
}

extension Environment {
    /// Bytes of the pages that a change may copy or add, besides its chunks.
    var bookkeepingGrowth: Int { Change.bookkeepingByteCount * pageScale }

    /// Bytes that some chunks of a blob, and what is noted of it, may add.
    func growth(ofChunks count: Int) -> Int {
        count * (StoreLimits.chunkByteCountMax + pageByteCount) + bookkeepingGrowth
    }
}

extension PreparedPayload {
    /// Bytes of pages that its chunks take, about: each fills its last one in part.
    func chunkCost(pageByteCount: Int) -> Int { storedByteCount + chunkCount * pageByteCount }
}
