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
    /// Whether each publish is followed by its fetch.
    let isPairs: Bool
    /// Whether the ids in publishes, and in the fetches of pairs, are places for a number (``NewID``).
    let hasNewIDs: Bool
    private let publishTrailer: [UInt8]

    /// All requests, concatenated: fetches, then the heads of publishes.
    private let requests: [UInt8]
    /// Where request i ends; it begins where the previous one ends.
    private let ends: [Int]
    private let fetchCount: Int

    /// - Parameter owner: of the publishes of each payload; nil: none.
    init(
        _ dialect: any LoadDialect, _ payloads: LoadPayloads, for purpose: Purpose,
        fetches: Bool = true, publishes: Bool = true, isPairs: Bool = false,
        hasNewIDs: Bool = false, owner: ((Int) -> String)? = nil
    ) throws(LoadFailure) {
        func published(_ index: Int) -> LoadItem {
            var item = payloads.publishedItem(index)
            if hasNewIDs { item.id = NewID.form }
            item.owner = owner?(index)
            return item
        }
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
                let item = isPairs ? published(index) : payloads.item(index)
                try dialect.appendFetch(of: item, to: &requests)
                try Self.close(&ends, requests.count, item)
            }
        }
        let fetchCount = ends.count - 1
        if publishes || purpose == .storing {
            for index in 0..<payloads.count {
                let item = purpose == .storing ? payloads.item(index) : published(index)
                try dialect.appendPublish(of: item, to: &requests)
                try Self.close(&ends, requests.count, item)
            }
        }
        self.dialect = dialect
        self.payloads = payloads
        self.purpose = purpose
        self.isPairs = isPairs
        self.hasNewIDs = hasNewIDs
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
