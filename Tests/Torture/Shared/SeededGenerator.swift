/// Random numbers that a seed repeats (SplitMix64: Steele, Lea and Flood, 2014).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// The generator of one of several threads, round after round.
    init(seed: UInt64, thread: Int, round: Int = 0) {
        state = Self.mix(seed &+ UInt64(thread) &* 0x9E37_79B9) &+ UInt64(round) &* 0x1000_0001
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mix(state)
    }

    /// Spreads a counter over all 64 bits.
    static func mix(_ counter: UInt64) -> UInt64 {
        var z = counter
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// True so many times in a hundred.
    mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }

    /// A number between the bounds whose logarithm is evenly spread, so that small ones are as
    /// common as large ones.
    mutating func logarithmic(_ bounds: ClosedRange<Int>) -> Int {
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
