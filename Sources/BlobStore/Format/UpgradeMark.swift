/// The value `upgrade` of the table `meta`: how far an upgrade is that was not finished yet.
struct UpgradeMark: Equatable {
    /// The last notification whose owner's entries are there; empty before the first.
    var lastID: [UInt8]

    static let name = "upgrade"
    private static let checksumByteCount = 4

    init(lastID: [UInt8] = []) { self.lastID = lastID }

    /// Reads and checks a value.
    init(_ value: RawSpan) throws(StoreError) {
        let count = value.byteCount - Self.checksumByteCount
        guard count >= 0, count <= StoreLimits.idByteCountMax,
            value.integer(at: count, as: UInt32.self)
                == Checksum(value.extracting(first: count)).value
        else { throw .corrupt("the mark of an upgrade") }
        lastID = value.extracting(first: count).array
    }

    /// The id, then its checksum.
    var bytes: [UInt8] {
        var bytes = lastID
        bytes.appendLittleEndian(Checksum(lastID.span.bytes).value)
        return bytes
    }
}
