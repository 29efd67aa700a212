internal import Bytes

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

/// That owners are yet to be told of a category's edit, and how far that is. The value of a key
/// ``IndexKeys/categoryEdit(_:)``; it goes when all are told.
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
