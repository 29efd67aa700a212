/// What several samples of one measurement come to.
public struct Spread: Codable, Sendable, Equatable {
    /// The middle one; the mean of the two in the middle when their number is even.
    public var median: Double
    /// The smallest.
    public var least: Double
    /// The largest.
    public var most: Double

    /// - Returns: nil when there are no values.
    public init?(_ values: [Double]) {
        guard let least = values.min(), let most = values.max() else { return nil }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        median =
            sorted.count.isMultiple(of: 2)
            ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        self.least = least
        self.most = most
    }
}
