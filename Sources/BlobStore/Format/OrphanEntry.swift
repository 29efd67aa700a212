internal import Bytes

/// A value of the table `orphans`: a blob that nothing refers to, whose chunks are still there.
struct OrphanEntry: Equatable {
    enum State: UInt8 {
        /// Its last reference was dropped.
        case released = 0
        /// It is being written ahead in several transactions; nothing has referred to it yet.
        case staged = 1
    }

    var digest: Digest
    /// The transaction that made it an orphan. A view that contains it cannot find the blob any
    /// more.
    var transaction: UInt64
    var storedByteCount: UInt64
    var state: State

    static let byteCount = 56
    private static let checkedByteCount = 52

    init(digest: Digest, transaction: UInt64, storedByteCount: Int, state: State) {
        self.digest = digest
        self.transaction = transaction
        self.storedByteCount = UInt64(storedByteCount)
        self.state = state
    }

    /// Reads and checks a value. Its checksum covers its key too: freeing by a key that was damaged
    /// would take another blob's chunks.
    init(_ value: RawSpan, number: UInt64) throws(StoreError) {
        guard value.byteCount == Self.byteCount,
            value.integer(Self.checkedByteCount, as: UInt32.self)
                == Self.checksum(number, value.extracting(first: Self.checkedByteCount)),
            let state = State(rawValue: value.byte(48)),
            value.integer(40, as: UInt64.self) <= StoreLimits.payloadByteCountMax,
            number <= StoreLimits.counterMax
        else { throw .corrupt("the orphan entry of blob \(number)") }
        digest = Digest(value, at: 0)
        transaction = value.integer(32)
        storedByteCount = value.integer(40)
        self.state = state
    }

    /// The value's 56 bytes, as words in the order of their bytes.
    func words(number: UInt64) -> InlineArray<7, UInt64> {
        let digest = digest.rawWords
        var words: InlineArray<7, UInt64> = [
            digest[0], digest[1], digest[2], digest[3], transaction.littleEndian,
            storedByteCount.littleEndian, UInt64(state.rawValue).littleEndian,
        ]
        let checksum = Self.checksum(
            number, words.span.bytes.extracting(first: Self.checkedByteCount))
        // The upper half of the last word.
        words[6] = (UInt64(state.rawValue) | UInt64(checksum) << 32).littleEndian
        return words
    }

    private static func checksum(_ number: UInt64, _ bytes: RawSpan) -> UInt32 {
        let key = Keys.orphan(number)
        return Checksum(key: key.span.bytes, bytes).value
    }
}
