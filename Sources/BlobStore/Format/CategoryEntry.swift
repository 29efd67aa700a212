/// A category's actions. The value of a key ``IndexKeys/category(_:app:)``.
enum CategoryEntry {
    private static let headerByteCount = 8
    /// The checksum covers the key, and what stands behind it.
    private static let checkedFrom = 4

    /// Reads and checks a value.
    static func category(_ value: RawSpan, key: RawSpan) throws(StoreError) -> Category {
        guard key.byteCount > 1, value.byteCount >= headerByteCount,
            value.integer(at: 0, as: UInt32.self) == checksum(key: key, value: value),
            let actions = ActionList.actions(value.extracting(headerByteCount..<value.byteCount))
        else { throw .corrupt("the entry of a category") }
        let text = key.extracting(1..<key.byteCount)
        guard let nameEnd = text.firstIndex(of: 0) else {
            return Category(name: text.string, actions: actions)
        }
        let app = text.extracting(nameEnd + 1..<text.byteCount)
        guard nameEnd > 0, !app.isEmpty else { throw .corrupt("the key of a category") }
        return Category(
            name: text.extracting(0..<nameEnd).string, actions: actions, app: app.string)
    }

    /// The value of `category` under `key`.
    static func bytes(_ category: Category, key: [UInt8]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: headerByteCount)
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
