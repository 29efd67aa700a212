internal import CLMDB
internal import Glibc

/// Where a view's keys were found last, so that the same key is found again without walking down a B-tree. It
/// belongs to a slot of ``ReaderSlots``. An entry is good for views of the commit it was found in: no page that the
/// last commit can see is written again before the next one. Only in the process that writes: in others, after a
/// writer has failed, one commit's number may come a second time with other content.
///
/// For 1,000 payloads of 1 KiB fetched at random over HTTP, counted with callgrind: 6,750 instructions of the
/// daemon instead of 8,600 while nothing is published, 7,790 instead of 8,820 with a publish after each 1,400
/// fetches, and 10,660 instead of 10,980 after each 74.
@safe struct LookupCache {
    /// ``wayCount`` neighbours make a set, in which a key may be; a cache line each. The first line
    /// of the allocation holds the commit of the view that is open.
    private let lines: UnsafeMutablePointer<Line>

    static let keyByteCountMax = 40
    static let entryCount = 1 << 14
    private static let wayCount = 2
    private static let setMask = UInt64(entryCount / wayCount - 1)

    /// An entry: a key and its table, and where its value lies.
    @safe fileprivate struct Line {
        /// The commit it was found in; 0 for none.
        var commit: UInt64 = 0
        var value: UnsafeMutableRawPointer?
        /// The length of the value, of the key, and the table.
        var shape: UInt64 = 0
        var key = LookupWords()
    }

    /// An empty cache, of a MiB that is taken from the system as it is used. Nil when there is
    /// no memory, which costs speed only.
    init?() {
        // Zeroed pages are lines without a commit, and begin on the boundary of a cache line.
        let memory = unsafe mmap(
            nil, Self.byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { return nil }
        unsafe lines = memory.bindMemory(to: Line.self, capacity: 1 + Self.entryCount)
    }

    /// Frees the memory. Nothing of this may be used after it.
    @unsafe func free() {
        unsafe munmap(lines, Self.byteCount)
    }

    private static let byteCount = (1 + entryCount) * MemoryLayout<Line>.stride

    /// The commit of the view that is open, by its number; 0 where nothing may be remembered.
    var commit: UInt64 {
        @inline(__always)
        get { unsafe lines.pointee.commit }
        @inline(__always)
        nonmutating set { unsafe lines.pointee.commit = newValue }
    }

    /// Where the value of a key was found in this commit; nil when it is not remembered.
    @inline(__always)
    func value(for key: LookupKey) -> MDB_val? {
        let set = unsafe set(of: key)
        for way in 0..<Self.wayCount {
            if unsafe set[way].holds(key, in: commit) {
                let count = unsafe Int(truncatingIfNeeded: set[way].shape & LookupKey.valueMask)
                return unsafe MDB_val(mv_size: count, mv_data: set[way].value)
            }
        }
        return nil
    }

    /// Remembers where a value lies, in place of what is of an older commit or, when there is none,
    /// of another key.
    @inline(never)
    func remember(_ value: MDB_val, for key: LookupKey) {
        guard commit > 0, unsafe value.mv_size <= LookupKey.valueMask else { return }
        let set = unsafe set(of: key)
        var way = 0
        while way < Self.wayCount - 1, unsafe set[way].commit == commit { way += 1 }
        // The one that stays longest is put first, and found first.
        if way > 0, unsafe set[way].commit == commit {
            unsafe set[way] = set[0]
            way = 0
        }
        unsafe set[way] = Line(
            commit: commit, value: value.mv_data, shape: key.shape | UInt64(value.mv_size),
            key: key.words)
    }

    /// The place is masked, so the set is inside the allocation.
    @inline(__always)
    private func set(of key: LookupKey) -> UnsafeMutablePointer<Line> {
        unsafe lines + 1 + Int(truncatingIfNeeded: key.hash & Self.setMask) * Self.wayCount
    }
}

extension LookupCache.Line {
    @inline(__always)
    fileprivate func holds(_ key: LookupKey, in commit: UInt64) -> Bool {
        let isOther = (shape & ~LookupKey.valueMask) ^ key.shape
        return isOther | (self.commit ^ commit) | self.key.difference(from: key.words) == 0
    }
}

struct LookupKey {
    /// The bits of a shape that hold the length of a value.
    fileprivate static let valueMask: UInt64 = 0xFFFF_FFFF

    fileprivate let words: LookupWords
    /// The table and the key's length, in the places above ``valueMask``.
    fileprivate let shape: UInt64
    fileprivate let hash: UInt64

    /// Nil when the key is too long to be remembered.
    @inline(__always)
    init?(_ key: RawSpan, in table: UInt32) {
        guard key.byteCount <= LookupCache.keyByteCountMax else { return nil }
        words = LookupWords(key)
        shape = UInt64(table) << 48 | UInt64(key.byteCount) << 40
        // Who finds keys that fall together gains slower lookups and nothing else.
        hash = words.hash(with: shape)
    }
}

/// The bytes of a key, and zeros after them.
private struct LookupWords {
    var first: UInt64 = 0
    var second: UInt64 = 0
    var third: UInt64 = 0
    var fourth: UInt64 = 0
    var fifth: UInt64 = 0

    init() {}

    @inline(__always)
    init(_ key: RawSpan) {
        first = Self.word(of: key, at: 0)
        guard key.byteCount > 8 else { return }
        second = Self.word(of: key, at: 8)
        guard key.byteCount > 16 else { return }
        third = Self.word(of: key, at: 16)
        guard key.byteCount > 24 else { return }
        fourth = Self.word(of: key, at: 24)
        guard key.byteCount > 32 else { return }
        fifth = Self.word(of: key, at: 32)
    }

    /// The bytes from `offset` on, at most eight of them.
    @inline(__always)
    private static func word(of key: RawSpan, at offset: Int) -> UInt64 {
        let count = key.byteCount - offset
        // Every load is of bytes inside the span.
        if count >= 8 {
            return unsafe key.unsafeLoadUnaligned(
                fromUncheckedByteOffset: offset, as: UInt64.self)
        }
        if offset > 0 {
            // The span's last eight bytes, without those of the word before.
            let last = unsafe key.unsafeLoadUnaligned(
                fromUncheckedByteOffset: key.byteCount - 8, as: UInt64.self)
            return last >> UInt64(8 * (8 - count))
        }
        var word: UInt64 = 0
        for index in 0..<count {
            let byte = unsafe key.unsafeLoad(fromUncheckedByteOffset: index, as: UInt8.self)
            word |= UInt64(byte) << UInt64(8 * index)
        }
        return word
    }

    /// Each word times a number of its own, which no word has to wait for, and their sum mixed.
    @inline(__always)
    func hash(with seed: UInt64) -> UInt64 {
        let sum =
            (first ^ seed) &* 0x9E37_79B9_7F4A_7C15 &+ second &* 0xC2B2_AE3D_27D4_EB4F
            &+ third &* 0x1656_67B1_9E37_79F9 &+ fourth &* 0xFF51_AFD7_ED55_8CCD
            &+ fifth &* 0xC4CE_B9FE_1A85_EC53
        // The lower bits of a product know nothing of the words' upper ones.
        let mixed = (sum ^ sum >> 32) &* 0x9E37_79B9_7F4A_7C15
        return mixed >> 32
    }

    /// 0 when they are the same. Without branches: they nearly always are.
    @inline(__always)
    func difference(from other: LookupWords) -> UInt64 {
        (first ^ other.first) | (second ^ other.second) | (third ^ other.third)
            | (fourth ^ other.fourth) | (fifth ^ other.fifth)
    }
}
