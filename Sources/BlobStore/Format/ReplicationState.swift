internal import Bytes

/// A name in the log of a shard: its number, and the SHA-256 of what is there.
package struct LogPosition: Sendable, Hashable {
    /// 0: before the first.
    package var number: UInt64
    /// Of all its bytes.
    package var hash: Digest

    /// Before the first name of a log.
    package static let start = LogPosition(number: 0, hash: Digest(InlineArray(repeating: 0)))

    package init(number: UInt64, hash: Digest) {
        self.number = number
        self.hash = hash
    }
}

/// 16 random bytes that tell one run of a leader, or one log, from every other.
package struct Nonce: Sendable, Hashable, BitwiseCopyable, CustomStringConvertible {
    package let high: UInt64
    package let low: UInt64

    /// One that was never used.
    package static func random() -> Nonce {
        Nonce(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
    }

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package var description: String {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
        var text: [UInt8] = []
        Hex.append(bytes.span.bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}

/// The value `replication` of the table `meta`: how this store belongs to a shard. Absent in a store that
/// never began to.
package struct ReplicationState: Equatable, Sendable, MetaValue {
    package enum Role: UInt8, Sendable {
        /// It is changed here, and its changes are shipped.
        case leader = 1
        /// It is changed by what a leader shipped, and by nothing else.
        case follower = 2
        /// It has changes that its shard does not have, and is not read any more.
        case deposed = 3
    }

    package var role: Role
    /// The epoch in which it leads, or the one of the last segment that it applied. 0: it was about to lead the
    /// first, and belongs to no shard until it knows that it does.
    package var epoch: UInt64
    /// The runs of this store that may have written to the bucket since its last fence; the newest is the last.
    /// Never empty.
    package private(set) var nonces: [Nonce]
    /// The last name of the log that is known to be in the bucket, or was applied. It may be behind.
    package var position: LogPosition
    /// The last batch up to `position`, or after it; a follower may have some of the next segment.
    package var sequence: UInt64

    /// Runs that are remembered. One more reuses the nonce of the newest instead of forgetting an old one,
    /// whose late requests would then look like another store's.
    package static let nonceCountMax = 16

    static let name = "replication"
    private static let headByteCount = 64
    private static let nonceByteCount = 16
    private static let form = ValueForm(
        "the state of the replication",
        byteCounts: headByteCount + nonceByteCount + 8...headByteCount + nonceCountMax
            * nonceByteCount + 8,
        checksumAt: -8, restAt: nil)

    /// The state of a store whose only run is that of `nonce`.
    package init(
        role: Role, epoch: UInt64, nonce: Nonce, position: LogPosition, sequence: UInt64
    ) {
        self.role = role
        self.epoch = epoch
        nonces = [nonce]
        self.position = position
        self.sequence = sequence
    }

    package var nonce: Nonce { nonces[nonces.count - 1] }

    package func isOwn(_ nonce: Nonce) -> Bool { nonces.contains(nonce) }

    /// Adds a run, where there is room for one more; ``nonce`` is the one to use.
    mutating func add(_ nonce: Nonce) {
        guard nonces.count < Self.nonceCountMax, !isOwn(nonce) else { return }
        nonces.append(nonce)
    }

    init(_ value: RawSpan) throws(StoreError) {
        try Self.form.check(value)
        let count = Int(value.byte(1))
        guard let role = Role(rawValue: value.byte(0)),
            value.byteCount == Self.headByteCount + count * Self.nonceByteCount + 8
        else { throw Self.form.damaged }
        self.role = role
        epoch = value.integer(8)
        position = LogPosition(number: value.integer(16), hash: Digest(value, at: 24))
        sequence = value.integer(56)
        nonces = (0..<count).map { value.words(Self.headByteCount + $0 * Self.nonceByteCount) }
        guard epoch <= StoreLimits.counterMax, sequence <= StoreLimits.counterMax,
            position.number <= StoreLimits.counterMax
        else { throw Self.form.damaged }
    }

    var value: [UInt8] {
        var bytes = [role.rawValue, UInt8(nonces.count)]
        bytes.appendZeros(6)
        bytes.append(littleEndian: epoch)
        bytes.append(littleEndian: position.number)
        bytes.append(contentsOf: position.hash.rawWords.span.bytes)
        bytes.append(littleEndian: sequence)
        for nonce in nonces { bytes.append(words: nonce) }
        bytes.appendZeros(8)
        Self.form.seal(&bytes)
        return bytes
    }
}

/// The value `epochs` of the table `meta`: where each leader's history begins. It is shipped with the changes.
///
/// The numbers of an epoch begin after a gap, and so do those of a leader that was started without its bucket.
/// Numbers in a gap were given by another leader, or another copy of this one, to changes that were lost.
struct EpochList: Equatable, MetaValue {
    /// One epoch, or a start in it.
    struct Epoch: Equatable, BitwiseCopyable {
        var epoch: UInt64
        /// The last revision before the gap.
        var revisionBefore: UInt64
        /// The revision that the epoch begins after.
        var revision: UInt64
        /// The last batch before this epoch's first.
        var sequence: UInt64

        fileprivate static let byteCount = 32
    }

    static let name = "epochs"
    private static let form = ValueForm(
        "the epochs of the replication",
        byteCounts: 4...StoreLimits.epochCountMax * Epoch.byteCount + 4, checksumAt: -4,
        restAt: nil)
    /// In the order of their epochs, and of their revisions.
    private(set) var epochs: [Epoch] = []

    init() {}

    init(_ value: RawSpan) throws(StoreError) {
        try Self.form.check(value)
        let count = (value.byteCount - 4) / Epoch.byteCount
        guard value.byteCount == count * Epoch.byteCount + 4 else { throw Self.form.damaged }
        for index in 0..<count {
            let epoch: Epoch = value.words(index * Epoch.byteCount)
            guard epoch.revisionBefore <= epoch.revision,
                epochs.last.map({ $0.epoch <= epoch.epoch && $0.revision <= epoch.revisionBefore })
                    != false
            else { throw Self.form.damaged }
            epochs.append(epoch)
        }
    }

    var value: [UInt8] {
        var bytes: [UInt8] = []
        for epoch in epochs { bytes.append(words: epoch) }
        bytes.appendZeros(4)
        Self.form.seal(&bytes)
        return bytes
    }

    /// With a new epoch. Of too many the oldest go.
    func adding(_ epoch: Epoch) -> EpochList {
        var list = self
        list.epochs = (epochs + [epoch]).suffix(StoreLimits.epochCountMax)
        return list
    }

    /// Whether a revision was, or may be, given in this history. One before the oldest known epoch counts as none,
    /// unless that is the first.
    func hasRevision(_ revision: UInt64) -> Bool {
        guard let first = epochs.first else { return true }
        guard let index = epochs.lastIndex(where: { $0.revision <= revision }) else {
            return first.epoch == 1 && revision <= first.revisionBefore
        }
        return index + 1 == epochs.count || revision <= epochs[index + 1].revisionBefore
    }

    /// Whether a batch of an epoch belongs to this history: not if it was given after the next leader took over.
    func hasSequence(_ sequence: UInt64, of epoch: UInt64) -> Bool {
        guard let next = epochs.first(where: { $0.epoch > epoch }) else { return true }
        return sequence <= next.sequence
    }
}
