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

    /// A scale whose ends are such as 10, 20, 50, 100, with few enough ticks to write beside each
    /// other on a phone.
    ///
    /// - Returns: nil when no value is positive.
    static func decimal(around values: [Double]) -> (scale: LogScale, ticks: [Double])? {
        let values = values.filter { $0 > 0 && $0.isFinite }
        guard let smallest = values.min(), let largest = values.max(), largest < 1e12 else {
            return nil
        }
        for steps in [[1.0, 2, 5], [1, 3], [1]] {
            // From a nanosecond, in microseconds, to where nobody waits.
            var marks: [Double] = []
            for power in -3...12 {
                let ten = power < 0 ? 1 / pow(10, Double(-power)) : pow(10, Double(power))
                marks += steps.map { $0 * ten }
            }
            guard let low = marks.lastIndex(where: { $0 <= smallest }),
                let high = marks.firstIndex(where: { $0 >= largest && $0 > marks[low] })
            else { return nil }
            let ticks = Array(marks[low...high])
            if ticks.count <= Self.decimalTickCountMax || steps.count == 1 {
                return (LogScale(least: ticks[0], most: ticks[ticks.count - 1]), ticks)
            }
        }
        return nil
    }

    private static let decimalTickCountMax = 4

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
