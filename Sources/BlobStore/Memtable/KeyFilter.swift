internal import Bytes
internal import Glibc
internal import Synchronization

/// A Bloom filter of the keys in a memtable: nearly every lookup of another key ends here. 256 KiB: with as many keys as
/// a full log has, one in fifty does not. Its memory costs nothing before it is touched.
struct KeyFilter: ~Copyable {
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    private static let wordCount = 32_768
    private static let bitCount = UInt64(wordCount * 64)

    init() {
        guard let zeros = calloc(Self.wordCount, MemoryLayout<UInt64>.size) else {
            fatalError("no memory for the filter of a memtable")
        }
        // Zeros are words that no bit is set in.
        words = zeros.bindMemory(to: Atomic<UInt64>.self, capacity: Self.wordCount)
    }

    deinit { free(words) }

    /// Before the entry is published.
    func insert(_ key: RawSpan, in table: UInt8) {
        let (first, second) = Self.bits(of: key, table)
        words[first / 64].bitwiseOr(1 << UInt64(first % 64), ordering: .relaxed)
        words[second / 64].bitwiseOr(1 << UInt64(second % 64), ordering: .relaxed)
    }

    func mayContain(_ key: RawSpan, in table: UInt8) -> Bool {
        let (first, second) = Self.bits(of: key, table)
        return words[first / 64].load(ordering: .relaxed) & 1 << UInt64(first % 64) != 0
            && words[second / 64].load(ordering: .relaxed) & 1 << UInt64(second % 64) != 0
    }

    private static func bits(of key: RawSpan, _ table: UInt8) -> (Int, Int) {
        var hash = mixed(UInt64(table) << 32 | UInt64(key.byteCount))
        var offset = 0
        while offset + 8 <= key.byteCount {
            hash = mixed(hash ^ key.word(offset))
            offset += 8
        }
        var last: UInt64 = 0
        while offset < key.byteCount {
            last = last << 8 | UInt64(key.byte(offset))
            offset += 1
        }
        hash = mixed(hash ^ last)
        return (Int(hash % bitCount), Int(hash >> 32 % bitCount))
    }

    private static func mixed(_ word: UInt64) -> UInt64 {
        let product = word &* 0x9E37_79B9_7F4A_7C15
        return product ^ product >> 29
    }
}
