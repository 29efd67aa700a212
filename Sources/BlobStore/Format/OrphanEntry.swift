/// A value of the table `orphans`: a blob that nothing refers to, whose chunks are still there.
struct OrphanEntry: Equatable {
    enum State: UInt8 {
        /// Its last reference was dropped.
        case released = 0
        /// It is being written ahead in several transactions; nothing has referred to it yet.
        case staged = 1
    }

    var digest: Digest
    /// The transaction that made it an orphan. A view that contains it cannot find the blob any more.
    var transaction: UInt64
    var storedByteCount: UInt64
    var state: State

    static let byteCount = 56

    init(digest: Digest, transaction: UInt64, storedByteCount: Int, state: State) {
        self.digest = digest
        self.transaction = transaction
        self.storedByteCount = UInt64(storedByteCount)
        self.state = state
    }

    init(_ value: RawSpan, number: UInt64) throws(StoreError) {
        guard value.byteCount == Self.byteCount, let state = State(rawValue: value.byte(at: 48)),
            value.integer(at: 40, as: UInt64.self) <= StoreLimits.payloadByteCountMax
        else { throw .corrupt("the orphan entry of blob \(number)") }
        digest = Digest(value, at: 0)
        transaction = value.integer(at: 32)
        storedByteCount = value.integer(at: 40)
        self.state = state
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        digest.append(to: &bytes)
        bytes.appendLittleEndian(transaction)
        bytes.appendLittleEndian(storedByteCount)
        bytes.append(state.rawValue)
        bytes.append(contentsOf: repeatElement(0, count: 7))
        return bytes
    }
}
