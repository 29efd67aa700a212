/// Where a walk over a store is, in memory that another process may share and read when a signal has ended it. One
/// thread writes.
package final class WalkPosition: @unchecked Sendable {
    // Sendable: one thread writes, as above.
    private let memory: UnsafeMutableRawPointer

    package static let byteCount = 4_096
    private static let keyByteCountMax = 511
    private static let nameByteCountMax = 64
    private static let nameOffset = 16
    private static let keyOffset = 128

    /// - Parameter memory: ``byteCount`` bytes, zeros at first, which stay as long as this is used.
    package init(_ memory: UnsafeMutableRawPointer) { self.memory = memory }

    /// The walk is at a page, or did not begin with the tables yet.
    package func note(page: UInt64) {
        memory.storeBytes(of: 0, toByteOffset: 8, as: UInt32.self)
        memory.storeBytes(of: page, as: UInt64.self)
    }

    /// The walk is at an entry of a table, or continues after it.
    package func note(_ table: StaticString, _ key: RawSpan) {
        let nameByteCount = min(table.utf8CodeUnitCount, Self.nameByteCountMax)
        let keyByteCount = min(key.byteCount, Self.keyByteCountMax)
        memory.advanced(by: Self.nameOffset).copyMemory(
            from: table.utf8Start, byteCount: nameByteCount)
        key.withUnsafeBytes { key in
            guard let start = key.baseAddress else { return }
            memory.advanced(by: Self.keyOffset).copyMemory(from: start, byteCount: keyByteCount)
        }
        memory.storeBytes(of: UInt16(keyByteCount), toByteOffset: 10, as: UInt16.self)
        memory.storeBytes(of: UInt16(nameByteCount), toByteOffset: 8, as: UInt16.self)
    }

    /// The place in words: `page 7`, `table notifications, key "42"`, or `the beginning`.
    package var text: String {
        let nameByteCount = Int(memory.load(fromByteOffset: 8, as: UInt16.self))
        let keyByteCount = Int(memory.load(fromByteOffset: 10, as: UInt16.self))
        guard nameByteCount > 0, nameByteCount <= Self.nameByteCountMax,
            keyByteCount <= Self.keyByteCountMax
        else {
            let page = memory.load(as: UInt64.self)
            return page == 0 ? "the beginning" : "page \(page)"
        }
        let all = UnsafeRawBufferPointer(start: memory, count: Self.byteCount)
        let name = Array(all[Self.nameOffset..<Self.nameOffset + nameByteCount])
        let key = Array(all[Self.keyOffset..<Self.keyOffset + keyByteCount])
        return "table \(String(decoding: name, as: UTF8.self)), key "
            + KeyText.text(key.span.bytes)
    }
}
