import BlobStore

/// Reads payloads in a random order that is the same in every run.
struct RandomReader {
    private let store: BlobStore
    private let identifiers: [String]
    /// The same, as a snapshot takes them.
    private let bytes: [[UInt8]]
    private let now: Timestamp
    private var numbers = Numbers()
    /// Of what was read, so that it is.
    private(set) var sum: UInt64 = 0

    private static let readsPerSnapshot = 256

    init(store: BlobStore, identifiers: [String], asOf now: Timestamp) {
        self.store = store
        self.identifiers = identifiers
        self.now = now
        bytes = identifiers.map { Array($0.utf8) }
    }

    /// A snapshot for every read.
    @inline(never)
    mutating func readEachAlone(_ count: Int) throws {
        var numbers = numbers
        var sum: UInt64 = 0
        for _ in 0..<count {
            let id = identifiers[numbers.next(below: identifiers.count)]
            let one = try store.withPayload(for: id, asOf: now) { payload in
                Self.touch(try payload.storedChunk(0))
            }
            sum &+= one ?? 0
        }
        self.numbers = numbers
        self.sum &+= sum
    }

    /// A snapshot for many reads.
    @inline(never)
    mutating func readTogether(_ count: Int) throws {
        var numbers = numbers
        var sum: UInt64 = 0
        var done = 0
        while done < count {
            let some = min(Self.readsPerSnapshot, count - done)
            try store.withSnapshot { snapshot in
                for _ in 0..<some {
                    let id = bytes[numbers.next(below: bytes.count)]
                    if case .found(let payload) = try snapshot.payload(
                        for: id.span.bytes, part: RawSpan(), asOf: now)
                    {
                        sum &+= Self.touch(try payload.storedChunk(0))
                    }
                }
            }
            done += some
        }
        self.numbers = numbers
        self.sum &+= sum
    }

    @inline(__always)
    private static func touch(_ chunk: RawSpan) -> UInt64 {
        UInt64(chunk.byteCount) &+ UInt64(chunk.unsafeLoad(as: UInt8.self))
    }
}

/// xorshift64*: the same numbers as the C side of the comparison.
private struct Numbers {
    private var state: UInt64 = 0x9e37_79b9_7f4a_7c15

    /// A multiplication instead of a division: an index from the upper 32 bits.
    @inline(__always)
    mutating func next(below count: Int) -> Int {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        let number = state &* 2_685_821_657_736_338_717
        return Int(truncatingIfNeeded: (number >> 32) &* UInt64(count) >> 32)
    }
}
