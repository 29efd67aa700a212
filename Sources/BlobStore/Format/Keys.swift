internal import Bytes

/// The keys of the tables that are not simply a name or a digest. Numbers are big-endian in keys,
/// so that keys sort by number.
enum Keys {
    /// `chunks`: blob number, then index.
    static func chunk(_ number: UInt64, _ index: Int) -> ChunkKey {
        ChunkKey(number: number, index: UInt32(truncatingIfNeeded: index))
    }

    /// `expiry`: milliseconds, then id. The other keys of that table are ``IndexKeys``.
    static func expiry(_ expiresAt: Timestamp, _ id: String) -> [UInt8] {
        var key: [UInt8] = []
        expiry(expiresAt, id, into: &key)
        return key
    }

    /// - Parameter key: what is there is replaced, in its memory where that is enough.
    static func expiry(_ expiresAt: Timestamp, _ id: String, into key: inout [UInt8]) {
        key.removeAll(keepingCapacity: true)
        let id = id.utf8.span.bytes
        key.append(addingCapacity: IndexKeys.timeByteCount + id.byteCount) { room in
            let time = UInt64(bitPattern: expiresAt.milliseconds).byteSwapped
            room.append(first: IndexKeys.timeByteCount, of: time)
            room.append(id)
        }
    }

    /// `orphans`: the queue, two bits, then the blob's number.
    static func state(_ number: UInt64, _ queue: StateQueue) -> InlineArray<1, UInt64> {
        [(number | queue.rawValue << StateQueue.shift).bigEndian]
    }

    /// The queue and the number of a key of `orphans`; nil when it is none.
    static func state(_ key: RawSpan) -> (queue: StateQueue, number: UInt64)? {
        guard key.byteCount == 8 else { return nil }
        let word = UInt64(bigEndian: key.word(0))
        guard let queue = StateQueue(rawValue: word >> StateQueue.shift) else { return nil }
        return (queue, word & (1 << StateQueue.shift - 1))
    }
}

/// A key of `chunks`, built in place: the read path makes one for each chunk.
struct ChunkKey {
    // 12 bytes: the number's eight, the index's four; the last four are not part of the key.
    private var words: InlineArray<2, UInt64>

    static let byteCount = 12

    init(number: UInt64, index: UInt32) {
        words = [number.bigEndian, UInt64(index.bigEndian)]
    }

    static func numbers(_ key: RawSpan) -> (number: UInt64, index: Int) {
        (
            UInt64(bigEndian: key.word(0)),
            Int(UInt32(bigEndian: key.integer(8, as: UInt32.self)))
        )
    }

    var bytes: RawSpan {
        @inline(__always)
        @_lifetime(borrow self)
        borrowing get {
            // On a little-endian machine the index's bytes come first in its word.
            words.span.bytes.extracting(first: Self.byteCount)
        }
    }
}
