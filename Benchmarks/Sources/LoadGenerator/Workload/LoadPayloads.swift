internal import Glibc

/// The payloads of a run: slices of one pool of random bytes. So thousands of distinct payloads take the memory of one,
/// and the bytes that answers are compared with stay in the processor's cache.
///
/// Equal sizes and seeds give equal payloads, whatever their number.
public struct LoadPayloads: Sendable {
    /// The sizes of the payloads.
    public let sizes: PayloadSizes
    /// The seed of the payloads.
    public let seed: UInt64
    /// The total of all payloads, in bytes.
    public let byteCountTotal: Int

    let pool: [UInt8]
    let slices: [PayloadSlice]

    /// Slices begin this many bytes apart. Odd, so that answers and payloads are not aligned alike.
    private static let stride = 61

    /// Creates `count` payloads, or the default number for their size (``LoadLimits/storedByteCountMax``). Costs the
    /// time to fill the pool, which is one payload of the largest size and 61 bytes for each payload.
    ///
    /// - Throws: a failure if a size or the number is out of bounds.
    public init(_ sizes: PayloadSizes, count: Int? = nil, seed: UInt64) throws(LoadFailure) {
        let count = count ?? sizes.usualCount
        if case .fixed(let size) = sizes { try Self.check(size) }
        guard LoadLimits.payloadCount.contains(count) else {
            let bounds = LoadLimits.payloadCount
            throw LoadFailure(
                .options,
                "the number of payloads is \(count); it must be \(bounds.lowerBound) to \(bounds.upperBound)"
            )
        }
        self.sizes = sizes
        self.seed = seed
        var generator = SeededGenerator(seed: seed)
        slices = (0..<count).map {
            PayloadSlice(start: $0 * Self.stride, byteCount: sizes.draw(using: &generator))
        }
        byteCountTotal = slices.reduce(0) { $0 + $1.byteCount }
        let poolByteCount = slices.reduce(0) { max($0, $1.start + $1.byteCount) }
        pool = Self.randomBytes(poolByteCount, seed: ~seed)
    }

    private static func check(_ size: Int) throws(LoadFailure) {
        let bounds = LoadLimits.payloadByteCount
        guard bounds.contains(size) else {
            throw LoadFailure(
                .options,
                "the payload size is \(size) bytes; it must be \(bounds.lowerBound) to \(bounds.upperBound)"
            )
        }
    }

    private static func randomBytes(_ count: Int, seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// The number of payloads.
    public var count: Int { slices.count }

    /// Payload `index` for a dialect. Allocates a string.
    public func item(_ index: Int) -> LoadItem {
        LoadItem(
            index: index, id: "bench-\(sizes)-\(seed)-\(index)", byteCount: slices[index].byteCount)
    }

    /// What a run publishes for payload `index`: the same size under another id. Allocates a string.
    public func publishedItem(_ index: Int) -> LoadItem {
        LoadItem(
            index: index, id: "bench-publish-\(sizes)-\(seed)-\(index)",
            byteCount: slices[index].byteCount)
    }

    /// The bytes of payload `index`.
    @_lifetime(borrow self)
    public func bytes(_ index: Int) -> RawSpan {
        let slice = slices[index]
        return pool.span.bytes.extracting(slice.start..<slice.start + slice.byteCount)
    }
}

struct PayloadSlice: Sendable, Hashable, BitwiseCopyable {
    var start: Int
    var byteCount: Int
}

/// The sizes of the payloads of a run.
public enum PayloadSizes: Sendable, Hashable, CustomStringConvertible {
    /// All of this many bytes.
    case fixed(Int)
    /// Like images of rich notifications: lognormal, median 60 kB, most between 18 and 200 kB, a few of several
    /// megabytes.
    case mix

    enum Mix {
        static let medianByteCount = 60_000.0
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

    var byteCountMax: Int {
        switch self {
        case .fixed(let byteCount): byteCount
        case .mix: Mix.byteCount.upperBound
        }
    }

    /// The default number of distinct payloads, limited by what a run may store.
    var usualCount: Int {
        let bounds = LoadLimits.payloadCountUsual
        guard case .fixed(let byteCount) = self, byteCount > 0 else { return bounds.upperBound }
        return min(
            max(LoadLimits.storedByteCountMax / byteCount, bounds.lowerBound), bounds.upperBound)
    }

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

/// A reproducible generator: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator. Every seed is suitable.
    public init(seed: UInt64) { state = seed }

    /// The next number. Costs three multiplications.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to `bound`, exclusive, which must be positive. One multiplication without rejection: its bias
    /// is below 2⁻⁴⁰ for the bounds of a run.
    mutating func index(below bound: Int) -> Int {
        Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }
}
