internal import Bytes

/// Puts entries into blocks, which are handed on when they are full.
struct BlockWriter: ~Copyable {
    private var block: [UInt8] = []
    private var table = BackupTable.meta
    private(set) var counts = [UInt64](repeating: 0, count: BackupTable.allCases.count)

    /// Whether the block should be taken.
    var isFull: Bool {
        block.count >= BackupFormat.blockHeadByteCount + BackupFormat.bodyByteCountMin
    }

    /// Adds an entry to a block of its own table: ``take()`` is called between two tables.
    mutating func append(_ key: RawSpan, _ value: RawSpan, of table: BackupTable) {
        if block.isEmpty {
            self.table = table
            block.reserveCapacity(BackupFormat.bodyByteCountMin + 80 << 10)
            block.append(contentsOf: repeatElement(0, count: BackupFormat.blockHeadByteCount))
        }
        precondition(table == self.table)
        block.append(littleEndian: UInt32(key.byteCount))
        block.append(littleEndian: UInt32(value.byteCount))
        block.append(contentsOf: key)
        block.append(contentsOf: value)
        counts[table.position] += 1
    }

    /// The block, whole; empty where nothing was added since the last one.
    mutating func take() -> [UInt8] {
        guard !block.isEmpty else { return [] }
        var whole: [UInt8] = []
        swap(&whole, &block)
        Self.close(&whole, kind: table.rawValue)
        return whole
    }

    /// The block that ends the backup. `digest`: of all bytes before it.
    func end(_ digest: InlineArray<32, UInt8>) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: BackupFormat.blockHeadByteCount)
        for count in counts { block.append(littleEndian: count) }
        block.append(contentsOf: digest.span.bytes)
        Self.close(&block, kind: BackupFormat.endKind)
        return block
    }

    private static func close(_ block: inout [UInt8], kind: UInt8) {
        block[0] = kind
        let byteCount = UInt32(block.count - BackupFormat.blockHeadByteCount)
        for index in 0..<4 {
            block[4 + index] = UInt8(truncatingIfNeeded: byteCount >> UInt32(8 * index))
        }
        block.append(littleEndian: Checksum(block.span.bytes).value)
    }
}
