internal import Synchronization

/// How long something took, counted in fixed buckets, as Prometheus' histograms are. One thread at a
/// time notes; any thread reads. Its numbers only grow.
package final class DurationHistogram: Sendable {
    /// The buckets' upper bounds, in nanoseconds: from 10 µs to 10 s.
    package static let bounds: [Int64] = [
        10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
        1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000,
        100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000,
        10_000_000_000,
    ]

    /// How many fell into each bucket, and after the last bound; not cumulative.
    private let buckets: InlineArray<20, Atomic<Int>> = .init { _ in Atomic(0) }
    private let sum = Atomic<Int>(0)

    package init() {}

    /// Notes a duration that so many things had. About thirty instructions, and no lock.
    package func note(nanoseconds: Int64, count: Int = 1) {
        let index = Self.index(of: nanoseconds)
        let bucket = buckets[index].load(ordering: .relaxed)
        buckets[index].store(bucket &+ count, ordering: .relaxed)
        let total = sum.load(ordering: .relaxed)
        sum.store(total &+ Int(nanoseconds) &* count, ordering: .relaxed)
    }

    fileprivate static func index(of nanoseconds: Int64) -> Int {
        var index = 0
        while index < bounds.count, nanoseconds > bounds[index] { index += 1 }
        return index
    }

    /// What it has come to. The buckets and the sum are read one by one.
    package var figures: DurationFigures {
        var figures = DurationFigures()
        for index in figures.counts.indices {
            figures.counts[index] = buckets[index].load(ordering: .relaxed)
        }
        figures.nanoseconds = sum.load(ordering: .relaxed)
        return figures
    }
}

/// What histograms have come to, of one or of several.
package struct DurationFigures: Sendable, Hashable {
    /// How many fell into each bucket, and after the last bound; not cumulative.
    package var counts = [Int](repeating: 0, count: DurationHistogram.bounds.count + 1)
    package var nanoseconds = 0

    package init() {}

    package mutating func add(_ nanoseconds: Int64) {
        counts[DurationHistogram.index(of: nanoseconds)] += 1
        self.nanoseconds += Int(nanoseconds)
    }

    package mutating func add(_ other: DurationFigures) {
        for index in counts.indices { counts[index] += other.counts[index] }
        nanoseconds += other.nanoseconds
    }
}

/// How long the store's writes to disk took, each with its sync.
package final class WriteDurations: Sendable {
    package let commit = DurationHistogram()
    /// Records of the write-ahead log.
    package let log = DurationHistogram()
}
