/// Counts numbers up to a largest one in buckets that are at most a thousandth of them wide, as
/// HdrHistogram does: numbers below 2,048 exactly, then 1,024 buckets for each doubling.
///
/// 8 KiB for each doubling. Adding a number is a shift and an increment.
struct Histogram {
    /// Buckets of one doubling: 2 to the power of 10.
    private static let bitCount = 10

    private var counts: [UInt64]
    private(set) var count: UInt64 = 0

    init(max: UInt64) {
        counts = Array(repeating: 0, count: Self.bucket(of: max) + 1)
    }

    /// Counts a number that is no larger than the largest one.
    mutating func add(_ number: UInt64) {
        counts[Self.bucket(of: number)] &+= 1
        count &+= 1
    }

    /// Adds what another one counted, which has the same largest number.
    mutating func add(_ other: Histogram) {
        for bucket in counts.indices { counts[bucket] &+= other.counts[bucket] }
        count &+= other.count
    }

    /// The number that `percent` of all do not exceed, rounded up to the end of its bucket; 0
    /// without any.
    func percentile(_ percent: Double) -> UInt64 {
        // One step down, so that rounding does not lead into the next bucket.
        let wanted = (percent.nextDown * Double(count) / 100).rounded(.up)
        var sum: UInt64 = 0
        for bucket in counts.indices where counts[bucket] > 0 {
            sum += counts[bucket]
            if Double(sum) >= wanted { return Self.last(in: bucket) }
        }
        return 0
    }

    /// How far the numbers of a bucket are shifted to be told apart by their first 11 bits.
    private static func bucket(of number: UInt64) -> Int {
        let shift = max(0, 53 - number.leadingZeroBitCount)
        return (shift << bitCount) + Int(number >> shift)
    }

    private static func last(in bucket: Int) -> UInt64 {
        let shift = max(0, (bucket >> bitCount) - 1)
        return (UInt64(bucket - (shift << bitCount) + 1) << shift) - 1
    }
}
