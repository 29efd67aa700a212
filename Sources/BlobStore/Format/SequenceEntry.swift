internal import Bytes

/// A notification's place in its owner's history, in the feed, or both; or a tombstone, which has
/// the place in the feed of one that is gone. The value of a key ``IndexKeys/sequence(_:_:)``.
struct SequenceEntry: Equatable, IndexValue {
    struct Indexes: OptionSet, Equatable {
        let rawValue: UInt8
        static let history = Indexes(rawValue: 1)
        static let feed = Indexes(rawValue: 2)
    }

    enum Kind: UInt8 {
        /// The notification is there.
        case live = 0
        /// It was removed, or has another owner now. This and what follows are tombstones.
        case deleted = 1
        /// Its time was over.
        case expired = 2
        /// A category was edited that one of the owner's notifications named: the id is the
        /// category's name. Kept, found and forgotten as a tombstone is.
        case category = 3
    }

    var indexes: Indexes
    var kind: Kind
    var id: String
    /// Of a tombstone: who removed it; nil where nobody was named.
    var device: String?
    /// Of a tombstone, and only there: when its retention ends.
    var end: Timestamp?
    /// Of a tombstone: the app that the notification, or the category, was for.
    var app: String?

    static let headerByteCount = 8
    /// At most with the longest id and device that their counts can say, and an end.
    private static let form = ValueForm(
        "an entry of an owner's feed", byteCounts: headerByteCount...headerByteCount + 2 * 255 + 8,
        checksumAt: 4, restAt: headerByteCount)

    init(_ indexes: Indexes, id: String) {
        self.indexes = indexes
        kind = .live
        self.id = id
    }

    init(_ kind: Kind, id: String, device: String?, end: Timestamp, app: String? = nil) {
        indexes = .feed
        self.kind = kind
        self.id = id
        self.device = device
        self.end = end
        self.app = app
    }

    var isOfNotification: Bool { kind == .deleted || kind == .expired }

    /// What finds it, where it is a tombstone.
    func finderKey(_ owner: String) -> [UInt8] {
        kind == .category
            ? IndexKeys.finder(owner, category: id, app: app)
            : IndexKeys.finder(owner, id: id, app: app)
    }

    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: key)
        guard let kind = Kind(rawValue: value.byte(1)) else { throw Self.form.damaged }
        indexes = Indexes(rawValue: value.byte(0))
        self.kind = kind
        let idEnd = Self.headerByteCount + Int(value.byte(2))
        let textsEnd = idEnd + Int(value.byte(3))
        let isTombstone = kind != .live
        let endByteCount = isTombstone ? 8 : 0
        guard value.byteCount >= textsEnd + endByteCount,
            value.byteCount
                <= textsEnd + (isTombstone ? 8 + StoreLimits.appByteCountMax : 0),
            idEnd > Self.headerByteCount,
            isTombstone ? indexes == .feed : !indexes.isEmpty && textsEnd == idEnd,
            indexes.isSubset(of: [.history, .feed])
        else { throw Self.form.damaged }
        id = value.extracting(Self.headerByteCount..<idEnd).text()
        if isTombstone {
            if textsEnd > idEnd { device = value.extracting(idEnd..<textsEnd).text() }
            end = Timestamp(milliseconds: value.integer(textsEnd))
            let app = value.extracting(textsEnd + endByteCount..<value.byteCount)
            if !app.isEmpty { self.app = app.text() }
        }
    }

    /// Ids and devices are short enough for their counts: their rules were
    /// checked when they came in.
    func bytes(key: [UInt8]) -> [UInt8] {
        let device = device ?? ""
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headerByteCount + id.utf8.count + device.utf8.count + 8)
        bytes.append(indexes.rawValue)
        bytes.append(kind.rawValue)
        bytes.append(UInt8(id.utf8.count))
        bytes.append(UInt8(device.utf8.count))
        bytes.append(littleEndian: UInt32(0))
        bytes.append(contentsOf: id.utf8)
        bytes.append(contentsOf: device.utf8)
        if let end { bytes.append(littleEndian: end.milliseconds) }
        if let app { bytes.append(contentsOf: app.utf8) }
        Self.form.seal(&bytes, key: key.span.bytes)
        return bytes
    }
}
