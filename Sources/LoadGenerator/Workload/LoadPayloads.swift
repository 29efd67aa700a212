/// The payloads of a run: slices of one pool of random bytes, so that thousands of distinct ones
/// cost the memory of one, and the bytes that answers are compared with stay in the processor's
/// cache.
///
/// The same sizes and seed give the same payloads, whatever their number.
public struct LoadPayloads: Sendable {
    /// How large they are.
    public let sizes: PayloadSizes
    /// What they were made from.
    public let seed: UInt64
    /// All payloads together, in bytes.
    public let byteCountTotal: Int

    let pool: [UInt8]
    let slices: [PayloadSlice]

    /// Slices begin this many bytes apart. Odd, so that answers and payloads are not aligned alike.
    private static let stride = 61

    /// Makes `count` payloads, or as many as are usual for their size
    /// (``LoadLimits/storedByteCountMax``). Costs the time to fill the pool, which is one payload of
    /// the largest size and 61 bytes for each.
    ///
    /// - Throws: a failure when a size or the number is out of its bounds.
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

    /// How many there are.
    public var count: Int { slices.count }

    /// Payload `index` as dialects see it. Makes a string.
    public func item(_ index: Int) -> LoadItem {
        LoadItem(
            index: index, id: "bench-\(sizes)-\(seed)-\(index)", byteCount: slices[index].byteCount)
    }

    /// What a run publishes in the place of payload `index`: an id of its own, the same size.
    func publishedItem(_ index: Int) -> LoadItem {
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

/// Where a payload lies in the pool.
struct PayloadSlice: Sendable, Hashable, BitwiseCopyable {
    var start: Int
    var byteCount: Int
}
