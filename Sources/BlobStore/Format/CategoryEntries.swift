internal import Bytes

/// A category. The value of a key ``IndexKeys/category(_:app:)``.
enum CategoryEntry {
    private static let headerByteCount = 16
    private static let form = ValueForm(
        "the entry of a category",
        byteCounts: headerByteCount...StoreLimits.categoryEntryByteCountMax, checksumAt: 0,
        restAt: 4)
    private static let optionsOffset = 4
    private static let revisionOffset = 8

    /// Reads and checks a value.
    static func category(_ value: RawSpan, key: RawSpan) throws(StoreError) -> Category {
        try form.check(value, key: key)
        guard key.byteCount > 1 else { throw form.damaged }
        let options = CategoryOptions(rawValue: value.integer(optionsOffset))
        guard options.isSubset(of: .all),
            let actions = ActionList.actions(value.extracting(droppingFirst: headerByteCount))
        else { throw form.damaged }
        let (name, app) = try nameAndApp(key)
        var category = Category(name: name, actions: actions, options: options, app: app)
        category.revision = value.integer(revisionOffset)
        return category
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

    /// The value of `category` under `key`.
    static func bytes(_ category: Category, key: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: UInt32(0))
        bytes.append(littleEndian: category.options.rawValue)
        bytes.append(littleEndian: UInt16(0))
        bytes.append(littleEndian: category.revision)
        ActionList.append(category.actions, to: &bytes)
        form.seal(&bytes, key: key.span.bytes)
        return bytes
    }
}

/// That owners are yet to be told of a category's edit, and how far that is. The value of a key
/// ``IndexKeys/categoryEdit(_:)``; it goes when all are told.
struct CategoryEditEntry: Equatable {
    /// The edit's.
    var revision: UInt64
    /// The id of the last notification that was looked at, as UTF-8; empty before the first.
    var lastID: [UInt8] = []

    private static let headerByteCount = 12
    private static let form = ValueForm(
        "a pending edit of a category",
        byteCounts: headerByteCount...headerByteCount + StoreLimits.idByteCountMax,
        checksumAt: 8, restAt: headerByteCount)

    init(revision: UInt64) { self.revision = revision }

    /// Reads and checks a value.
    init(_ value: RawSpan, key: RawSpan) throws(StoreError) {
        try Self.form.check(value, key: key)
        revision = value.integer(0)
        lastID = value.extracting(droppingFirst: Self.headerByteCount).array()
    }

    /// The value under `key`.
    func bytes(key: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: revision)
        bytes.append(littleEndian: UInt32(0))
        bytes.append(contentsOf: lastID)
        Self.form.seal(&bytes, key: key.span.bytes)
        return bytes
    }
}
