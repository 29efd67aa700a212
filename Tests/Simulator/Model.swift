import BlobStore

/// What a notification should be.
struct Version: Equatable {
    /// The operation that made it what it is. Its message says so.
    var operation: Int
    var owner: Int?
    /// The content of each part.
    var parts: [String: Int]
    var expiresAt: Timestamp
    var isRead = false
}

/// All notifications, by their numbers; those that have expired included.
typealias Contents = [Version?]

/// A change, and what it makes of the contents where it is done.
typealias Planned = (change: Change, effect: (inout Contents, Timestamp) -> Void)

/// Changes that a process had begun when it died.
struct InFlight {
    let before: Contents
    let effects: [(inout Contents, Timestamp) -> Void]
    let time: Timestamp

    /// What may be there after a restart: each of the changes may have been done, or been refused for lack of space, or
    /// not have been reached.
    var outcomes: [Contents] {
        effects.reduce([before]) { outcomes, effect in
            outcomes
                + outcomes.map { contents in
                    var contents = contents
                    effect(&contents, time)
                    return contents
                }
        }
    }
}

/// What should be after a batch.
struct Batch {
    /// Tells this batch from all others, also from those of the same sequence on other hosts.
    var stamp: Int
    /// nil: only one of several that were made together.
    var contents: Contents?
    /// Whether a client was told that it is on this disk.
    var isAcknowledged = false
    /// When, by the clock that is always right.
    var milliseconds: Int64
}

/// What a store that leads should have: the log of its shard up to a batch, and its own batches from there.
struct Timeline {
    /// The last batch that is the shard's.
    var base: UInt64
    /// The first one is after the base.
    var batches: [Batch] = []
    /// What it begins with.
    var first: Contents

    var last: UInt64 { base + UInt64(batches.count) }

    var contents: Contents? { batches.isEmpty ? first : batches[batches.count - 1].contents }

    /// The contents after a batch of this store's own.
    func batch(_ sequence: UInt64) -> Batch? {
        guard sequence > base, sequence <= last else { return nil }
        return batches[Int(sequence - base) - 1]
    }

    /// Forgets batches that did not survive.
    mutating func cut(to sequence: UInt64) {
        guard sequence < last else { return }
        batches.removeLast(batches.count - Int(max(sequence, base) - base))
    }
}

/// What is in the log of the shard, which is the truth: one batch for each sequence, and what came of each.
struct ShardHistory {
    /// What was there before the first batch.
    var first: Contents
    private(set) var batches: [Batch] = []
    /// The last name that counts.
    var position: UInt64 = 0
    /// The epoch of the last name that counts. The first one has no fence.
    var epoch: UInt64 = 1
    /// The names that have fences.
    var fences: Set<UInt64> = []
    /// Who wrote the last name, and whether that ends the epoch.
    var writer = ""
    var hasEnded = true
    /// When they last said, with that name or in `alive/`, that they are there.
    var signedAt: Int64 = 0
    /// The last batch that a client was told to be in the bucket.
    var acknowledged: UInt64 = 0

    var last: UInt64 { UInt64(batches.count) }

    func batch(_ sequence: UInt64) -> Batch? {
        guard sequence > 0, sequence <= last else { return nil }
        return batches[Int(sequence) - 1]
    }

    func contents(_ sequence: UInt64) -> Contents? {
        sequence == 0 ? first : batch(sequence)?.contents
    }

    mutating func append(_ batch: Batch) { batches.append(batch) }
}

/// A finding: the product did what it must not do.
struct Finding: Error, CustomStringConvertible {
    /// In one line, and the same for the same defect: without numbers.
    let kind: String
    /// With numbers.
    let description: String

    init(_ kind: String, _ details: String = "") {
        self.kind = kind
        description = details.isEmpty ? kind : "\(kind): \(details)"
    }
}
