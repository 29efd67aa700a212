internal import Bytes

/// A value of the table `blobs`: where a digest's bytes are and how many parts refer to them.
struct BlobEntry: Equatable {
    var blob: BlobReference
    var referenceCount: UInt64
    /// The latest expiry any part that refers to it was given: an upper bound.
    var expiryBound: Timestamp
    /// Until when the blob is kept without a reference, if at all. The reference count may be 0 only then.
    var heldUntil: Timestamp?

    static let byteCount = 56
    /// The hold has the upper six bytes of the word that the coding is in.
    private static let holdShift: UInt64 = 16
    private static let holdMax: UInt64 = 1 << 48 - 1
    private static let form = ValueForm("", byteCount: byteCount, checksumAt: 48)

    init(_ value: RawSpan, digest: Digest) throws(StoreError) {
        let key = digest.rawWords
        guard Self.form.isWhole(value, key: key.span.bytes) else {
            throw .corrupt("the blob entry of \(digest)")
        }
        let blob = BlobReference(
            digest, number: value.integer(0), byteCount: value.integer(16),
            storedByteCount: value.integer(24), coding: value.byte(40))
        guard let blob else { throw .corrupt("the byte counts of \(digest)") }
        self.blob = blob
        referenceCount = value.integer(8)
        expiryBound = Timestamp(milliseconds: value.integer(32))
        let hold = value.integer(40, as: UInt64.self) >> Self.holdShift
        if hold > 0 { heldUntil = Timestamp(milliseconds: Int64(hold)) }
        // Both are added to.
        guard number <= StoreLimits.counterMax, referenceCount <= StoreLimits.counterMax else {
            throw .corrupt("the numbers of \(digest)")
        }
    }

    init(_ key: RawSpan, _ value: RawSpan) throws(StoreError) {
        guard let digest = Digest(bytes: key) else { throw .corrupt("a key of the blob table") }
        try self.init(value, digest: digest)
    }

    init(
        _ blob: BlobReference, referenceCount: UInt64, expiryBound: Timestamp,
        heldUntil: Timestamp? = nil
    ) {
        self.blob = blob
        self.referenceCount = referenceCount
        self.expiryBound = expiryBound
        self.heldUntil = heldUntil
    }

    var number: UInt64 { blob.number }

    var words: InlineArray<7, UInt64> {
        let hold = min(UInt64(clamping: heldUntil?.milliseconds ?? 0), Self.holdMax)
        var words: InlineArray<7, UInt64> = [
            number.littleEndian, referenceCount.littleEndian, UInt64(blob.byteCount).littleEndian,
            UInt64(blob.storedByteCount).littleEndian,
            UInt64(bitPattern: expiryBound.milliseconds).littleEndian,
            (UInt64(blob.coding.rawValue) | hold << Self.holdShift).littleEndian, 0,
        ]
        let key = blob.digest.rawWords
        let checksum = Self.form.checksum(of: words.span.bytes, key: key.span.bytes)
        words[6] = UInt64(checksum).littleEndian
        return words
    }

    /// When the blob's time was over, if that is before `now` and known: what referred to it may
    /// have gone earlier than the bound says.
    func end(before now: Timestamp) -> Timestamp? {
        let end = max(expiryBound, heldUntil ?? expiryBound)
        return end <= now ? end : nil
    }
}

extension BlobReference {
    /// What an entry says of a blob; nil where no blob can be so.
    init?(
        _ digest: Digest, number: UInt64, byteCount: UInt64, storedByteCount: UInt64, coding: UInt8
    ) {
        guard let coding = Coding(rawValue: coding),
            byteCount <= StoreLimits.payloadByteCountMax,
            storedByteCount <= StoreLimits.payloadByteCountMax,
            // Bytes as given are looked up by their positions as stored.
            coding != .identity || byteCount == storedByteCount
        else { return nil }
        self.init(
            digest: digest, number: number, byteCount: Int(byteCount),
            storedByteCount: Int(storedByteCount), coding: coding)
    }
}

/// A value of the table `orphans`: what this host has of a blob's bytes, where that is not simply all of them. A
/// blob has at most one. None is shipped, but that a blob was released.
struct BlobStateEntry: Equatable {
    enum State: UInt8 {
        /// Its last reference was dropped. Its chunks are freed, some of them perhaps already.
        case released = 0
        /// It is being written ahead in several transactions; nothing has referred to it yet.
        case staged = 1
        /// It is evicted: the bucket has its bytes, and chunks may be missing here.
        case inBucket = 2
        /// A chunk failed its checksum here, or was never there. None of its bytes is sent.
        case damaged = 3
    }

    /// Of the blob; zeros of one that is in the bucket.
    var digest: Digest
    /// Of a blob to be freed, the transaction that made it one: a view that contains it cannot find the blob. Of a
    /// damaged one, when the damage was found, in milliseconds.
    var transaction: UInt64
    var storedByteCount: UInt64
    var state: State

    static let byteCount = 56
    private static let form = ValueForm("", byteCount: byteCount, checksumAt: 52)
    private static let noDigest = Digest(
        [UInt8](repeating: 0, count: Digest.byteCount).span.bytes, at: 0)

    init(digest: Digest, transaction: UInt64, storedByteCount: Int, state: State) {
        self.digest = digest
        self.transaction = transaction
        self.storedByteCount = UInt64(storedByteCount)
        self.state = state
    }

    init(inBucket storedByteCount: Int) {
        self.init(
            digest: Self.noDigest, transaction: 0, storedByteCount: storedByteCount,
            state: .inBucket)
    }

    init(damaged blob: BlobReference, foundAt now: Timestamp) {
        self.init(
            digest: blob.digest, transaction: UInt64(clamping: now.milliseconds),
            storedByteCount: blob.storedByteCount, state: .damaged)
    }

    /// Its checksum covers its key too: freeing by a key that was damaged would take another blob's chunks.
    init(_ value: RawSpan, number: UInt64) throws(StoreError) {
        guard value.byteCount == Self.byteCount, let state = State(rawValue: value.byte(48)),
            Self.isWhole(value, number, state),
            value.integer(40, as: UInt64.self) <= StoreLimits.payloadByteCountMax,
            number < StoreLimits.counterMax
        else { throw .corrupt("the state of blob \(number)") }
        digest = Digest(value, at: 0)
        transaction = value.integer(32)
        storedByteCount = value.integer(40)
        self.state = state
    }

    private static func isWhole(_ value: RawSpan, _ number: UInt64, _ state: State) -> Bool {
        let key = Keys.state(number, state.queue)
        return form.isWhole(value, key: key.span.bytes)
    }

    func words(number: UInt64) -> InlineArray<7, UInt64> {
        let digest = digest.rawWords
        var words: InlineArray<7, UInt64> = [
            digest[0], digest[1], digest[2], digest[3], transaction.littleEndian,
            storedByteCount.littleEndian, UInt64(state.rawValue).littleEndian,
        ]
        let key = Keys.state(number, state.queue)
        let checksum = Self.form.checksum(of: words.span.bytes, key: key.span.bytes)
        // The upper half of the last word.
        words[6] = (UInt64(state.rawValue) | UInt64(checksum) << 32).littleEndian
        return words
    }
}

/// Where in the table an entry stands: blobs in the bucket may be millions, and freeing walks over those to
/// be freed alone.
enum StateQueue: UInt64, CaseIterable {
    case toBeFreed = 0
    case inBucket = 1
    case damaged = 2

    /// Below the queue's bits in a key there is the number.
    static let shift: UInt64 = 62
}

extension BlobStateEntry.State {
    var queue: StateQueue {
        switch self {
        case .released, .staged: .toBeFreed
        case .inBucket: .inBucket
        case .damaged: .damaged
        }
    }

    /// Whether a blob may change from one state to another; nil: it is here and whole, or is not there at all. A
    /// blob to be freed never lives again, since readers of its number may have ended for good.
    static func allows(_ old: Self?, _ new: Self?) -> Bool {
        switch (old, new) {
        case (nil, _), (_, nil): true
        // Staged again after an attempt that failed, or left in the bucket then.
        case (.staged, .staged), (.staged, .inBucket): true
        case (.inBucket, .released), (.damaged, .released): true
        default: false
        }
    }
}

/// The value `evicted` of the table `meta`: how many blobs are in the bucket and perhaps not here. Of this
/// host alone.
struct EvictionCount: Equatable, MetaValue, WordsValue {
    var blobs: UInt64 = 0
    /// As stored.
    var bytes: UInt64 = 0

    static let name = "evicted"
    static let form = ValueForm("the count of evicted blobs", byteCount: 20, checksumAt: 16)

    var isSound: Bool { max(blobs, bytes) <= StoreLimits.counterMax }

    mutating func add(_ entry: BlobStateEntry) {
        blobs += 1
        bytes += entry.storedByteCount
    }
}
