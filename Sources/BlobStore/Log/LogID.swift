internal import LMDB

/// Which log belongs to a store: the value `log` of the table `meta`. It is made anew whenever a
/// process begins to log, and told to nobody: bytes that somebody has published cannot be taken for
/// a record where old ones lie behind new ones in the log.
struct LogID: Equatable {
    let high: UInt64
    let low: UInt64

    static let name = "log"
    static let byteCount = 24

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    static func random() -> LogID {
        LogID(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
    }

    /// Reads it; nil when it is damaged.
    init?(_ value: RawSpan) {
        guard value.byteCount >= Self.byteCount,
            value.integer(at: 16, as: UInt32.self) == Self.checksum(value)
        else { return nil }
        self.init(high: value.integer(at: 0), low: value.integer(at: 8))
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(high)
        bytes.appendLittleEndian(low)
        bytes.appendLittleEndian(Self.checksum(bytes.span.bytes))
        bytes.appendLittleEndian(UInt32(0))
        return bytes
    }

    private static func checksum(_ value: RawSpan) -> UInt32 {
        Checksum(key: name.utf8.span.bytes, value.extracting(first: 16)).value
    }
}

extension Snapshot {
    /// Which log belongs to the store; nil when nobody has logged yet. One B-tree lookup.
    ///
    /// - Throws: ``StoreError/corrupt(_:)``.
    borrowing func logID() throws(StoreError) -> LogID? {
        let name = Array(LogID.name.utf8)
        guard let value = try transaction.view.get(name.span.bytes, in: store.tables.meta) else {
            return nil
        }
        guard let id = LogID(value) else { throw .corrupt("the log's id is damaged") }
        return id
    }
}
