import Glibc

/// Values along a chart's width, each ten times, or each twice, the same step.
struct LogScale {
    let least: Double
    let most: Double

    /// A scale from the power of `base` at or below the smallest value to the one at or above the
    /// largest.
    ///
    /// - Returns: nil when no value is positive.
    init?(around values: [Double], base: Double) {
        let values = values.filter { $0 > 0 && $0.isFinite }
        guard let smallest = values.min(), let largest = values.max() else { return nil }
        let step = log2(base)
        let low = (log2(smallest) / step).rounded(.down)
        let high = max((log2(largest) / step).rounded(.up), low + 1)
        least = exp2(low * step)
        most = exp2(high * step)
    }

    init(least: Double, most: Double) {
        self.least = least
        self.most = most
    }

    /// Where a value stands, 0…1.
    func share(_ value: Double) -> Double {
        guard value > least else { return 0 }
        return min(log2(value / least) / log2(most / least), 1)
    }

    /// The powers of `base` in it.
    func ticks(base: Double) -> [Double] {
        var ticks: [Double] = []
        var tick = least
        // A scale over more than 64 steps has no room for its ticks anyhow.
        while tick <= most * 1.001, ticks.count < 64 {
            ticks.append(tick)
            tick *= base
        }
        return ticks
    }
}
