import TestSupport

/// The bits of a store's file that mean something to LMDB, by what they mean: those of pages that
/// are in use as of the last commit.
struct FlipTargets {
    /// By kind, where bits begin and how many there are.
    private(set) var byKind: [String: [(offset: Int, bitCount: Int)]] = [:]
    private let bytes: [UInt8]
    private let page: Int

    init(_ bytes: [UInt8]) throws {
        self.bytes = bytes
        page = Int(Self.integer(bytes, 40, 4))
        try require(page >= 512 && bytes.count > 2 * page, "this is no LMDB file")
        for meta in 0..<2 {
            add("meta pages", meta * page, 8 * 16)
            add("meta pages", meta * page + 16, 8 * 136)
        }
        let newest = Self.integer(bytes, 144, 8) > Self.integer(bytes, page + 144, 8) ? 0 : page
        walk(root: number(newest + 40 + 40, 8), table: "free list")
        walk(root: number(newest + 88 + 40, 8), table: "main table")
    }

    /// A bit: its byte, which of the eight, and what it is.
    struct Bit {
        var offset: Int
        var bit: Int
        var kind: String
    }

    /// Any bit, kinds with few bits as often as others.
    func random(using generator: inout SeededGenerator) -> Bit {
        let kinds = byKind.keys.sorted()
        let kind = kinds[Int.random(in: 0..<kinds.count, using: &generator)]
        guard let places = byKind[kind], !places.isEmpty else {
            return Bit(offset: 0, bit: 0, kind: "")
        }
        let place = places[Int.random(in: 0..<places.count, using: &generator)]
        let bit = Int.random(in: 0..<place.bitCount, using: &generator)
        return Bit(offset: place.offset + bit / 8, bit: bit % 8, kind: kind)
    }

    private mutating func add(_ kind: String, _ offset: Int, _ bitCount: Int) {
        guard bitCount > 0, offset >= 0, offset + (bitCount + 7) / 8 <= bytes.count else { return }
        byKind[kind, default: []].append((offset, bitCount))
    }

    private func number(_ offset: Int, _ count: Int) -> UInt64 {
        Self.integer(bytes, offset, count)
    }

    private static func integer(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> UInt64 {
        guard offset >= 0, offset + count <= bytes.count else { return 0 }
        return (0..<count).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
    }

    private mutating func walk(root: UInt64, table: String) {
        guard root != .max, let start = Int(exactly: root).map({ $0 * page }),
            start + page <= bytes.count
        else { return }
        let isLeaf = number(start + 10, 2) == 2
        let kind = isLeaf ? "leaves" : "branches"
        add("headers of \(kind)", start, 64)
        add("headers of \(kind)", start + 10, 48)
        let count = (Int(number(start + 12, 2)) - 16) / 2
        add("places on \(kind)", start + 16, 16 * count)
        for index in 0..<count {
            visit(start + Int(number(start + 16 + 2 * index, 2)), isLeaf, table)
        }
    }

    private mutating func visit(_ node: Int, _ isLeaf: Bool, _ table: String) {
        let keyByteCount = Int(number(node + 6, 2))
        add("lengths of keys", node + 6, 16)
        add("keys", node + 8, 8 * keyByteCount)
        guard isLeaf else {
            add("children of branches", node, 48)
            return walk(root: number(node, 4) | number(node + 4, 2) << 32, table: table)
        }
        let value = node + 8 + keyByteCount
        let byteCount = Int(number(node, 4))
        add("sizes in \(table)", node, 32)
        // The high ones once more: these go far.
        add("sizes in \(table)", node + 1, 24)
        add("flags of entries", node + 4, 16)
        if table == "main table" {
            add("roots of tables", value, 8 * 48)
            let name = String(decoding: bytes[node + 8..<value], as: UTF8.self)
            walk(root: number(value + 40, 8), table: name)
        } else if number(node + 4, 2) & 1 != 0 {
            add("places of long values", value, 64)
            let first = Int(number(value, 8)) * page
            add("headers of long values", first, 64)
            add("headers of long values", first + 10, 48)
            if table == "free list" { add("free pages", first + 16, 8 * min(byteCount, 4_000)) }
        } else {
            add(table == "free list" ? "free pages" : "values in \(table)", value, 8 * byteCount)
        }
    }
}
