internal import Bytes

/// A notification's place in its owner's history, in the feed, or both; or a tombstone, which has the place in the
/// feed of one that is gone.
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
        /// A category was edited that one of the owner's notifications named: the id is its name. Kept as a
        /// tombstone is.
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
        let (idBytes, deviceBytes) = (id.utf8.span.bytes, device.utf8.span.bytes)
        var bytes: [UInt8] = []
        bytes.append(
            addingCapacity: Self.headerByteCount + idBytes.byteCount + deviceBytes.byteCount
        ) { room in
            room.append(indexes.rawValue)
            room.append(kind.rawValue)
            room.append(UInt8(idBytes.byteCount))
            room.append(UInt8(deviceBytes.byteCount))
            // For the checksum.
            room.append(repeating: 0, count: 4)
            room.append(idBytes)
            room.append(deviceBytes)
        }
        if let end { bytes.append(littleEndian: end.milliseconds) }
        if let app { bytes.append(contentsOf: app.utf8) }
        Self.form.seal(&bytes, key: key.span.bytes)
        return bytes
    }
}

/// How much an owner has. It changes in the transaction that changes what it counts. An owner without notifications
/// has none.
struct OwnerUsage: Equatable, IndexValue, WordsValue {
    /// Notifications, those that have expired and are not removed yet included.
    var notifications: UInt64 = 0
    /// Bytes of all their parts, as given.
    var bytes: UInt64 = 0

    static let form = ValueForm("the usage of an owner", byteCount: 24, checksumAt: 16)

    var isSound: Bool { notifications > 0 && max(notifications, bytes) <= StoreLimits.counterMax }

    mutating func add(_ byteCount: Int) {
        notifications += 1
        bytes += UInt64(byteCount)
    }

    /// What it is after a change. A count that was wrong does not fall below 0, so that nobody is kept from
    /// deleting.
    func changed(notifications: Int, bytes: Int) -> OwnerUsage {
        var usage = OwnerUsage()
        usage.notifications = UInt64(max(0, Int(clamping: self.notifications) + notifications))
        usage.bytes = UInt64(max(0, Int(clamping: self.bytes) + bytes))
        return usage
    }
}

/// Where the tombstone of an id stands among its owner's entries.
struct TombstoneIndexEntry: Equatable, IndexValue, WordsValue {
    var revision: UInt64

    static let form = ValueForm("a tombstone index entry", byteCount: 16, checksumAt: 8)
}

/// That everything of an owner up to a revision was removed at once: devices that read its feed before must read
/// the history again.
struct PurgeMarker: Equatable, IndexValue, WordsValue {
    /// Places in the feed before this one are refused.
    var revision: UInt64
    var end: Timestamp

    static let form = ValueForm("a purge marker", byteCount: 24, checksumAt: 16)
}

/// The value of a key ``IndexKeys/category(_:app:)``.
extension Category: IndexValue {
    private static let headerByteCount = 16
    private static let form = ValueForm(
        "the entry of a category",
        byteCounts: headerByteCount...StoreLimits.categoryEntryByteCountMax, checksumAt: 0,
        restAt: 4)

    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: key)
        guard key.byteCount > 1 else { throw Self.form.damaged }
        let options = CategoryOptions(rawValue: value.integer(4))
        guard options.isSubset(of: .all),
            let actions = ActionList.actions(value.extracting(droppingFirst: Self.headerByteCount))
        else { throw Self.form.damaged }
        let (name, app) = try Self.nameAndApp(key)
        self.init(name: name, actions: actions, options: options, app: app)
        revision = value.integer(8)
    }

    /// The name and the app that a key says, of a category or of its edit.
    static func nameAndApp(_ key: RawSpan) throws(StoreError) -> (name: String, app: String?) {
        let text = key.extracting(1..<key.byteCount)
        let nameEnd = text.index(of: 0)
        guard nameEnd < text.byteCount else { return (text.text(), nil) }
        let app = text.extracting(nameEnd + 1..<text.byteCount)
        guard nameEnd > 0, !app.isEmpty else { throw .corrupt("the key of a category") }
        return (text.extracting(0..<nameEnd).text(), app.text())
    }

    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: UInt32(0))
        bytes.append(littleEndian: options.rawValue)
        bytes.append(littleEndian: UInt16(0))
        bytes.append(littleEndian: revision)
        ActionList.append(actions, to: &bytes)
        Self.form.seal(&bytes, key: key.span.bytes)
        return bytes
    }
}

/// That owners are yet to be told of a category's edit, and how far that is.
struct CategoryEditEntry: Equatable, IndexValue {
    var revision: UInt64
    /// The id of the last notification that was looked at, as UTF-8; empty before the first.
    var lastID: [UInt8] = []

    private static let headerByteCount = 12
    private static let form = ValueForm(
        "a pending edit of a category",
        byteCounts: headerByteCount...headerByteCount + StoreLimits.idByteCountMax,
        checksumAt: 8, restAt: headerByteCount)

    init(revision: UInt64) { self.revision = revision }

    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: key)
        revision = value.integer(0)
        lastID = value.extracting(droppingFirst: Self.headerByteCount).array()
    }

    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: revision)
        bytes.append(littleEndian: UInt32(0))
        bytes.append(contentsOf: lastID)
        Self.form.seal(&bytes, key: key.span.bytes)
        return bytes
    }
}

/// A blob that was damaged when its bytes were published again. They became another blob, which has the digest's
/// entry now; parts refer to this one until each is given the other. Shipped like any change.
struct QuarantineEntry: Equatable, IndexValue {
    /// The blob, as the parts that refer to it have it.
    var blob: BlobReference
    /// How many parts refer to it; at least 1.
    var referenceCount: UInt64
    /// When it gave way.
    var foundAt: Timestamp

    private static let form = ValueForm("a quarantine entry", byteCount: 72, checksumAt: 68)

    init(_ blob: BlobReference, referenceCount: UInt64, foundAt: Timestamp) {
        self.blob = blob
        self.referenceCount = referenceCount
        self.foundAt = foundAt
    }

    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: key)
        referenceCount = value.integer(32)
        foundAt = Timestamp(milliseconds: value.integer(56))
        guard let number = IndexKeys.number(key), number <= StoreLimits.counterMax,
            (1...StoreLimits.counterMax).contains(referenceCount),
            let blob = BlobReference(
                Digest(value, at: 0), number: number, byteCount: value.integer(40),
                storedByteCount: value.integer(48), coding: value.byte(64))
        else { throw Self.form.damaged }
        self.blob = blob
    }

    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes = blob.digest.rawWords.span.bytes.array()
        bytes.append(littleEndian: referenceCount)
        bytes.append(littleEndian: UInt64(blob.byteCount))
        bytes.append(littleEndian: UInt64(blob.storedByteCount))
        bytes.append(littleEndian: foundAt.milliseconds)
        bytes.append(littleEndian: UInt32(blob.coding.rawValue))
        bytes.appendZeros(4)
        Self.form.seal(&bytes, key: key.span.bytes)
        return bytes
    }
}
