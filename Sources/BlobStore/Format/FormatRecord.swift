internal import Bytes

/// The value `format` of the table `meta`: whose store it is and which version of `docs/FORMAT.md`
/// it follows.
struct FormatRecord: Equatable, MetaValue {
    static let version: UInt32 = 2
    /// Those it opens. In a store of version 1 nothing is counted for owners.
    static let versions: ClosedRange<UInt32> = 1...3
    /// Of a store that is replicated: a program that knows no replication would not ship its changes.
    static let replicatedVersion: UInt32 = 3

    /// Whether what each owner has is counted (``OwnerUsage``).
    var countsOwners: Bool { version >= 2 }

    static let name = "format"
    /// Later versions may append to it.
    private static let form = ValueForm(
        "the format record", byteCounts: 48...4_096, checksumAt: 40, restAt: nil)
    private static let magic = Array("blobdfmt".utf8)

    var version: UInt32
    var storeID: StoreID
    var createdAt: Timestamp

    init(storeID: StoreID, createdAt: Timestamp) {
        version = Self.version
        self.storeID = storeID
        self.createdAt = createdAt
    }

    /// Reads and checks a value. Later versions may append to it, and are still named.
    init(_ value: RawSpan) throws(StoreError) {
        try Self.form.check(value)
        guard value.extracting(first: 8).equals(Self.magic.span.bytes) else {
            throw Self.form.damaged
        }
        version = value.integer(8)
        (storeID, createdAt) = (value.words(16), value.words(32))
    }

    var value: [UInt8] {
        var bytes = Self.magic
        bytes.append(littleEndian: version)
        bytes.append(littleEndian: UInt32(0))
        bytes.append(words: storeID)
        bytes.append(words: createdAt)
        bytes.appendZeros(8)
        Self.form.seal(&bytes)
        return bytes
    }
}

/// The value `predecessors` of the table `meta`: the stores whose backups this one comes from, the latest first.
/// Their cursors are answered with `resync`.
struct Predecessors: Equatable, MetaValue {
    static let name = "predecessors"
    private static let idByteCount = 16
    private static let form = ValueForm(
        "the predecessors of the store",
        byteCounts: 4...StoreLimits.predecessorCountMax * idByteCount + 4, checksumAt: -4,
        restAt: nil)

    var storeIDs: [StoreID] = []

    init() {}

    init(_ value: RawSpan) throws(StoreError) {
        try Self.form.check(value)
        let idsByteCount = value.byteCount - 4
        guard idsByteCount % Self.idByteCount == 0 else { throw Self.form.damaged }
        for offset in stride(from: 0, to: idsByteCount, by: Self.idByteCount) {
            storeIDs.append(value.words(offset))
        }
    }

    /// With one more store, which is the latest.
    func adding(_ id: StoreID) -> Predecessors {
        var result = self
        result.storeIDs = Array(([id] + storeIDs).prefix(StoreLimits.predecessorCountMax))
        return result
    }

    var value: [UInt8] {
        var bytes: [UInt8] = []
        for id in storeIDs { id.append(to: &bytes) }
        bytes.appendZeros(4)
        Self.form.seal(&bytes)
        return bytes
    }
}
