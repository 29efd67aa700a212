/// The same numbers for the same seed: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom
/// Number Generators, 2014).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// A generator that begins with `seed`; every seed is a good one.
    public init(seed: UInt64) { state = seed }

    /// The next number. Costs three multiplications.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to `bound`, which must be positive. One multiplication and no rejection:
    /// its bias is below 2⁻⁴⁰ for the bounds of a run.
    mutating func index(below bound: Int) -> Int {
        Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    /// A number in 0 ..< 1.
    mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }
}
