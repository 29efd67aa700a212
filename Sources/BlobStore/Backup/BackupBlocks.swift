internal import Bytes
internal import Hashing

/// Reads a backup, and checks all of it on the way: checksums, the order of tables and keys, the digest.
package struct BackupReader: ~Copyable {
    /// Appends up to so many bytes of a backup; none at its end.
    package typealias Source = (_ buffer: inout [UInt8], _ byteCountMax: Int) throws -> Void

    package let head: BackupHead
    package private(set) var byteCount = 0

    private var hash = SHA256()
    private var counts = [UInt64](repeating: 0, count: BackupTable.allCases.count)
    private var lastTable = BackupTable.meta
    private var lastKey: [UInt8] = []

    package init(from source: Source) throws {
        var bytes: [UInt8] = []
        try Self.fill(&bytes, to: BackupHead.byteCount, from: source)
        head = try BackupHead(bytes.span.bytes)
        hash.update(bytes)
        byteCount = bytes.count
    }

    /// Checks the rest without looking at what it says.
    package mutating func skipToEnd(
        from source: Source, _ progress: (_ byteCount: Int) -> Void
    ) throws {
        while try nextBlock(from: source) != nil {
            progress(byteCount)
        }
    }

    struct Block {
        let table: BackupTable
        let bytes: [UInt8]

        /// Calls `body` with the keys and values, in order. The lengths were checked.
        func forEachEntry(_ body: (_ key: RawSpan, _ value: RawSpan) throws -> Void) throws {
            let bytes = bytes.span.bytes
            var index = BackupFormat.blockHeadByteCount
            while index < bytes.byteCount {
                let keyStart = index + BackupFormat.entryHeadByteCount
                let valueStart = keyStart + Int(bytes.integer(index, as: UInt32.self))
                let end = valueStart + Int(bytes.integer(index + 4, as: UInt32.self))
                try body(
                    bytes.extracting(keyStart..<valueStart), bytes.extracting(valueStart..<end))
                index = end
            }
        }
    }

    /// The next block; nil after the last one, when everything agrees with the end.
    mutating func nextBlock(from source: Source) throws -> Block? {
        var bytes: [UInt8] = []
        try Self.fill(&bytes, to: BackupFormat.blockHeadByteCount, from: source)
        let kind = bytes[0]
        let bodyByteCount = Int(bytes.span.bytes.integer(4, as: UInt32.self))
        guard bodyByteCount > 0, bodyByteCount <= BackupFormat.bodyByteCountMax else {
            throw damaged("a block of \(bodyByteCount) bytes")
        }
        let end = BackupFormat.blockHeadByteCount + bodyByteCount
        try Self.fill(&bytes, to: end + 4, from: source)
        let checksum = bytes.span.bytes.integer(end, as: UInt32.self)
        guard Checksum(bytes.span.bytes.extracting(first: end)).value == checksum else {
            throw damaged("a block that fails its checksum")
        }
        guard kind != BackupFormat.endKind else {
            try checkEnd(bytes.span.bytes.extracting(BackupFormat.blockHeadByteCount..<end))
            var rest: [UInt8] = []
            try source(&rest, 1)
            guard rest.isEmpty else { throw damaged("bytes behind its end") }
            byteCount += bytes.count
            return nil
        }
        guard let table = BackupTable(rawValue: kind), table.rawValue >= lastTable.rawValue else {
            throw damaged("a block of the unknown kind \(kind)")
        }
        hash.update(bytes)
        byteCount += bytes.count
        bytes.removeLast(4)
        let block = Block(table: table, bytes: bytes)
        try checkEntries(of: block)
        return block
    }

    /// Checks that the entries fill the block, and that their keys ascend.
    private mutating func checkEntries(of block: Block) throws {
        if block.table != lastTable { lastKey = [] }
        lastTable = block.table
        let bytes = block.bytes.span.bytes
        var index = BackupFormat.blockHeadByteCount
        while index < bytes.byteCount {
            guard bytes.byteCount - index >= BackupFormat.entryHeadByteCount else {
                throw damaged("an entry that is cut short")
            }
            let keyByteCount = Int(bytes.integer(index, as: UInt32.self))
            let valueByteCount = Int(bytes.integer(index + 4, as: UInt32.self))
            index += BackupFormat.entryHeadByteCount
            guard keyByteCount > 0, keyByteCount <= StoreLimits.keyByteCountMax,
                valueByteCount <= bytes.byteCount - index - keyByteCount
            else { throw damaged("an entry that is cut short") }
            let key = bytes.extracting(index..<index + keyByteCount)
            guard lastKey.span.bytes.order(to: key) < 0 else {
                throw damaged("keys that do not ascend")
            }
            lastKey = key.array()
            index += keyByteCount + valueByteCount
            counts[block.table.position] += 1
        }
    }

    private func checkEnd(_ end: RawSpan) throws {
        guard end.byteCount == BackupFormat.endByteCount else {
            throw damaged("an end of \(end.byteCount) bytes")
        }
        for table in BackupTable.allCases {
            let count = end.integer(8 * table.position, as: UInt64.self)
            guard count == counts[table.position] else {
                throw damaged(
                    "\(counts[table.position]) entries of \(table), where its end says \(count)")
            }
        }
        let digest = hash.digest()
        guard end.extracting(last: 32).equals(digest.span.bytes) else {
            throw damaged("another SHA-256 than its end says")
        }
    }

    private func damaged(_ what: String) -> BackupError {
        BackupError("is damaged: it has \(what), at byte \(byteCount)")
    }

    private static func fill(
        _ bytes: inout [UInt8], to count: Int, from source: Source
    ) throws {
        bytes.reserveCapacity(count)
        while bytes.count < count {
            let before = bytes.count
            try source(&bytes, count - bytes.count)
            guard bytes.count > before else { throw BackupError("is truncated") }
        }
    }
}

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
            block.appendZeros(BackupFormat.blockHeadByteCount)
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
