internal import Bytes

/// The value `predecessors` of the table `meta`: the stores whose backups this one comes from, the
/// latest first. Their cursors mean nothing here, and are answered with `resync`.
struct Predecessors: Equatable {
    static let name = "predecessors"
    private static let idByteCount = 16
    private static let form = ValueForm(
        "the predecessors of the store",
        byteCounts: 4...StoreLimits.predecessorCountMax * idByteCount + 4, checksumAt: -4,
        restAt: nil)

    var storeIDs: [StoreID] = []

    init() {}

    /// Reads and checks a value.
    init(_ value: RawSpan) throws(StoreError) {
        try Self.form.check(value)
        let idsByteCount = value.byteCount - 4
        guard idsByteCount % Self.idByteCount == 0 else { throw Self.form.damaged }
        for offset in stride(from: 0, to: idsByteCount, by: Self.idByteCount) {
            storeIDs.append(
                StoreID(high: value.integer(offset), low: value.integer(offset + 8)))
        }
    }

    /// The same with one more store, which is the latest.
    func adding(_ id: StoreID) -> Predecessors {
        var result = self
        result.storeIDs = Array(([id] + storeIDs).prefix(StoreLimits.predecessorCountMax))
        return result
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for id in storeIDs { id.append(to: &bytes) }
        bytes.appendZeros(4)
        Self.form.seal(&bytes)
        return bytes
    }
}
