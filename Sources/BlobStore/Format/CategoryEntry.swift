internal import Bytes

/// A category. The value of a key ``IndexKeys/category(_:app:)``.
enum CategoryEntry {
    private static let headerByteCount = 16
    /// The checksum covers the key, and what stands behind it.
    private static let checkedFrom = 4
    private static let optionsOffset = 4
    private static let revisionOffset = 8

    /// Reads and checks a value.
    static func category(_ value: RawSpan, key: RawSpan) throws(StoreError) -> Category {
        let damaged = StoreError.corrupt("the entry of a category")
        // Lengths first: a checksum of gigabytes would take seconds.
        guard key.byteCount > 1, value.byteCount >= headerByteCount,
            value.byteCount <= StoreLimits.categoryEntryByteCountMax,
            value.integer(0, as: UInt32.self) == checksum(key: key, value: value)
        else { throw damaged }
        let options = CategoryOptions(rawValue: value.integer(optionsOffset))
        guard options.isSubset(of: .all),
            let actions = ActionList.actions(value.extracting(headerByteCount..<value.byteCount))
        else { throw damaged }
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
        let checksum = checksum(key: key.span.bytes, value: bytes.span.bytes)
        var span = bytes.mutableSpan
        var target = span.mutableBytes
        target.store(checksum, at: 0)
        return bytes
    }

    private static func checksum(key: RawSpan, value: RawSpan) -> UInt32 {
        Checksum(key: key, value.extracting(checkedFrom..<value.byteCount)).value
    }
}
