import Glibc

/// Random numbers that a seed repeats (SplitMix64: Steele, Lea and Flood, 2014).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    /// Where it began; to be printed when a test fails.
    public let seed: UInt64
    private var state: UInt64

    /// A generator that begins with `seed`.
    public init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// The generator of one of several threads, in one of several runs of it.
    public init(seed: UInt64, thread: Int, round: Int = 0) {
        self.init(
            seed: Self.mix(seed &+ UInt64(thread) &* 0x9E37_79B9) &+ UInt64(round) &* 0x1000_0001)
    }

    /// The next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mix(state)
    }

    /// Spreads a counter over all 64 bits.
    public static func mix(_ counter: UInt64) -> UInt64 {
        var mixed = counter
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to `bound`.
    public mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// True so many times in a hundred.
    public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    /// So many bytes that do not shrink when they are compressed.
    public mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            withUnsafeBytes(of: next()) { bytes.append(contentsOf: $0) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// So many bytes that are the same for the same seed.
    public static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        return generator.bytes(count)
    }

    /// A number between the bounds whose logarithm is evenly spread, so that small ones are as
    /// common as large ones.
    public mutating func logarithmic(_ bounds: ClosedRange<Int>) -> Int {
        // Doublings from the lower bound, then an even choice within the last of them.
        var upper = bounds.lowerBound
        var doublings = 0
        while upper < bounds.upperBound {
            upper *= 2
            doublings += 1
        }
        guard doublings > 0 else { return bounds.lowerBound }
        let lower = bounds.lowerBound << Int.random(in: 0..<doublings, using: &self)
        return Int.random(in: lower...min(lower * 2, bounds.upperBound), using: &self)
    }
}

/// What a test with random choices begins with: `fixed`, the same in every run of the suite. In a campaign, which sets
/// `BLOBD_TEST_SEED`, it is the number that this says, or with `random` another one each time.
public func testSeed(_ fixed: UInt64) -> UInt64 {
    guard let text = getenv("BLOBD_TEST_SEED").map({ String(cString: $0) }) else { return fixed }
    return UInt64(text) ?? .random(in: 0..<1_000_000_000)
}

/// How often something random is tried: `usual` in the suite, ten times as often in a campaign (see ``testSeed(_:)``).
public func testRounds(_ usual: Int) -> Int {
    getenv("BLOBD_TEST_SEED") == nil ? usual : 10 * usual
}
