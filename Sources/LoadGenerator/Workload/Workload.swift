/// Everything that requests consist of and answers are compared with, prepared before the run.
///
/// Noncopyable, so that the loop, which borrows it, changes no reference counts.
struct Workload: ~Copyable {
    enum Purpose: Sendable {
        /// Fetches payloads, and publishes under other ids, each time with a unique body.
        case measuring
        /// Stores every payload once, unchanged, to be fetched later.
        case storing
    }

    let dialect: any LoadDialect
    let payloads: LoadPayloads
    let purpose: Purpose
    let opening: [UInt8]
    private let publishTrailer: [UInt8]

    /// All requests, concatenated: fetches, then the heads of publishes.
    private let requests: [UInt8]
    /// Where request i ends; it begins where the previous one ends.
    private let ends: [Int]
    private let fetchCount: Int

    init(
        _ dialect: any LoadDialect, _ payloads: LoadPayloads, for purpose: Purpose,
        fetches: Bool = true, publishes: Bool = true
    ) throws(LoadFailure) {
        let publishTrailer = dialect.publishTrailer
        guard publishTrailer.count <= LoadLimits.publishTrailerByteCountMax else {
            throw LoadFailure(
                .options,
                "the dialect \(dialect.name) puts \(publishTrailer.count) bytes behind a body; "
                    + "the limit is \(LoadLimits.publishTrailerByteCountMax)")
        }
        var requests: [UInt8] = []
        var ends: [Int] = [0]
        if fetches && purpose == .measuring {
            for index in 0..<payloads.count {
                try dialect.appendFetch(of: payloads.item(index), to: &requests)
                try Self.close(&ends, requests.count, payloads.item(index))
            }
        }
        let fetchCount = ends.count - 1
        if publishes || purpose == .storing {
            for index in 0..<payloads.count {
                let item =
                    purpose == .storing ? payloads.item(index) : payloads.publishedItem(index)
                try dialect.appendPublish(of: item, to: &requests)
                try Self.close(&ends, requests.count, item)
            }
        }
        self.dialect = dialect
        self.payloads = payloads
        self.purpose = purpose
        opening = dialect.opening
        self.publishTrailer = publishTrailer
        self.requests = requests
        self.ends = ends
        self.fetchCount = fetchCount
    }

    private static func close(
        _ ends: inout [Int], _ end: Int, _ item: LoadItem
    ) throws(LoadFailure) {
        let count = end - ends[ends.count - 1]
        guard (1...LoadLimits.requestByteCountMax).contains(count) else {
            throw LoadFailure(
                .options,
                "a request for \(item.id) is \(count) bytes long; it must be within "
                    + "1…\(LoadLimits.requestByteCountMax)")
        }
        ends.append(end)
    }

    @_lifetime(borrow self)
    borrowing func fetch(_ index: Int) -> RawSpan {
        requests.span.bytes.extracting(ends[index]..<ends[index + 1])
    }

    @_lifetime(borrow self)
    borrowing func publishHead(_ index: Int) -> RawSpan {
        let index = fetchCount + index
        return requests.span.bytes.extracting(ends[index]..<ends[index + 1])
    }

    var pool: RawSpan {
        @_lifetime(borrow self)
        borrowing get { payloads.pool.span.bytes }
    }

    var trailer: RawSpan {
        @_lifetime(borrow self)
        borrowing get { publishTrailer.span.bytes }
    }

    borrowing func slice(_ index: Int) -> PayloadSlice { payloads.slices[index] }

    /// How many bytes at the start of a published body are replaced by a number that makes the body unique.
    borrowing func stampByteCount(of slice: PayloadSlice) -> Int {
        purpose == .measuring ? min(PlannedRequest.stampByteCount, slice.byteCount) : 0
    }
}
