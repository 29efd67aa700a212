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
