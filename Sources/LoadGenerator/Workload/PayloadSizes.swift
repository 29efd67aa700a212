internal import Glibc

/// How large the payloads of a run are.
public enum PayloadSizes: Sendable, Hashable, CustomStringConvertible {
    /// All of this many bytes.
    case fixed(Int)
    /// Like images of rich notifications: lognormal, median 60 kB, most between 18 and 200 kB, a few of
    /// some megabytes.
    case mix

    /// The distribution of `mix`.
    enum Mix {
        static let medianByteCount = 60_000.0
        /// The standard deviation of the size's natural logarithm.
        static let spread = 1.2
        static let byteCount = 1_024...(4 << 20)
    }

    /// The number of bytes, or `mix`.
    public var description: String {
        switch self {
        case .fixed(let byteCount): "\(byteCount)"
        case .mix: "mix"
        }
    }

    /// The largest possible size, in bytes.
    var byteCountMax: Int {
        switch self {
        case .fixed(let byteCount): byteCount
        case .mix: Mix.byteCount.upperBound
        }
    }

    /// The default number of distinct payloads: as many as a run may store.
    var usualCount: Int {
        let bounds = LoadLimits.payloadCountUsual
        guard case .fixed(let byteCount) = self, byteCount > 0 else { return bounds.upperBound }
        return min(
            max(LoadLimits.storedByteCountMax / byteCount, bounds.lowerBound), bounds.upperBound)
    }

    /// The size of the next payload, in bytes.
    func draw(using generator: inout SeededGenerator) -> Int {
        guard case .fixed(let byteCount) = self else {
            // The Box–Muller transform. 1 - u is never 0, so the logarithm is finite.
            let radius = (-2 * log(1 - generator.fraction())).squareRoot()
            let normal = radius * cos(2 * Double.pi * generator.fraction())
            let size = Mix.medianByteCount * exp(Mix.spread * normal)
            let bounds = Mix.byteCount
            return Int(min(max(size, Double(bounds.lowerBound)), Double(bounds.upperBound)))
        }
        return byteCount
    }
}
