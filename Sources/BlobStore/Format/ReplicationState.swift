internal import Bytes

/// A name in the log of a shard: its number, and the SHA-256 of what is there.
package struct LogPosition: Sendable, Hashable {
    /// 0: before the first.
    package var number: UInt64
    /// Of all its bytes.
    package var hash: Digest

    /// Before the first name of a log.
    package static let start = LogPosition(number: 0, hash: Digest(InlineArray(repeating: 0)))

    /// A position.
    package init(number: UInt64, hash: Digest) {
        self.number = number
        self.hash = hash
    }
}

/// 16 random bytes that tell one run of a leader from every other.
package struct Nonce: Sendable, Hashable, CustomStringConvertible {
    /// The first eight bytes.
    package let high: UInt64
    /// The others.
    package let low: UInt64

    /// One that was never used.
    package static func random() -> Nonce {
        Nonce(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
    }

    /// The same bytes again.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// 32 hexadecimal digits.
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
/// is not replicated.
package struct ReplicationState: Equatable, Sendable {
    /// What a store is in its shard.
    package enum Role: UInt8, Sendable {
        /// It is changed here, and its changes are shipped.
        case leader = 1
        /// It is changed by what a leader shipped, and by nothing else.
        case follower = 2
        /// It has changes that its shard does not have, because another store was made the leader. It is
        /// read by nobody any more.
        case deposed = 3
    }

    /// What this store is.
    package var role: Role
    /// The epoch in which it leads, or the one of the last segment that it applied. The first is 1.
    package var epoch: UInt64
    /// The run that ships, or shipped, what this store leads.
    package var nonce: Nonce
    /// The last name of the log that is known to be in the bucket, or was applied. It may be behind.
    package var position: LogPosition
    /// The last batch that is known to be in the bucket, or was applied. It may be behind for a leader.
    package var sequence: UInt64

    static let name = "replication"
    private static let byteCount = 88
    private static let checkedByteCount = 80

    /// A state.
    package init(
        role: Role, epoch: UInt64, nonce: Nonce, position: LogPosition, sequence: UInt64
    ) {
        self.role = role
        self.epoch = epoch
        self.nonce = nonce
        self.position = position
        self.sequence = sequence
    }

    /// Reads and checks a value.
    init(_ value: RawSpan) throws(StoreError) {
        guard value.byteCount == Self.byteCount, let role = Role(rawValue: value.byte(0)),
            value.integer(Self.checkedByteCount, as: UInt32.self)
                == Checksum(value.extracting(first: Self.checkedByteCount)).value
        else { throw .corrupt("the state of the replication") }
        self.role = role
        epoch = value.integer(8)
        nonce = Nonce(high: value.integer(16), low: value.integer(24))
        position = LogPosition(number: value.integer(32), hash: Digest(value, at: 40))
        sequence = value.integer(72)
        guard epoch <= StoreLimits.counterMax, sequence <= StoreLimits.counterMax,
            position.number <= StoreLimits.counterMax
        else { throw .corrupt("the state of the replication") }
    }

    var bytes: [UInt8] {
        var bytes = [role.rawValue]
        bytes.appendZeros(7)
        bytes.append(littleEndian: epoch)
        bytes.append(littleEndian: nonce.high)
        bytes.append(littleEndian: nonce.low)
        bytes.append(littleEndian: position.number)
        bytes.append(contentsOf: position.hash.rawWords.span.bytes)
        bytes.append(littleEndian: sequence)
        bytes.append(littleEndian: Checksum(bytes.span.bytes).value)
        bytes.appendZeros(4)
        return bytes
    }
}
