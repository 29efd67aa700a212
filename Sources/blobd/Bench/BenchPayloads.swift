import BlobClient

/// The payloads of a run: slices of one pool of random bytes, so that thousands of distinct ones
/// cost the memory of one.
struct BenchPayloads: Sendable {
    /// Bytes in each.
    let byteCount: Int
    /// How many distinct ones.
    let count: Int
    private let pool: [UInt8]
    private let prefix: String

    /// Slices begin this many bytes apart.
    private static let stride = 61
    /// What all of them may take in the store.
    static let storedByteCountMax = 256 << 20
    static let countMax = 1_000

    init(byteCount: Int, seed: UInt64) {
        self.byteCount = byteCount
        count = max(16, min(Self.countMax, Self.storedByteCountMax / max(byteCount, 1)))
        var generator = BenchGenerator(seed: seed)
        let poolByteCount = byteCount + count * Self.stride
        pool = [UInt8](unsafeUninitializedCapacity: poolByteCount + 8) { buffer, filled in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            var offset = 0
            // The buffer has room for the last whole word.
            while offset < poolByteCount {
                bytes.storeBytes(of: generator.next(), toByteOffset: offset, as: UInt64.self)
                offset += 8
            }
            filled = poolByteCount
        }
        prefix = "bench-\(byteCount)-\(seed)-"
    }

    /// The id payload `index` is stored under.
    func id(_ index: Int) -> String { "\(prefix)\(index)" }

    /// The bytes of payload `index`.
    @_lifetime(borrow self)
    func bytes(_ index: Int) -> RawSpan {
        let start = index * Self.stride
        return pool.span.bytes.extracting(start..<start + byteCount)
    }

    /// Stores all of them, for an hour.
    func load(into connection: inout BlobConnection) throws {
        for index in 0..<count {
            try connection.put(
                PutRequest(id: id(index), lifetime: .seconds(3_600)), bytes(index))
        }
    }
}

/// The same numbers for the same seed (SplitMix64).
struct BenchGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
