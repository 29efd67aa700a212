import TestSupport

/// How a reader treats the answers it has asked for.
enum ReadingManner: String, Sendable, Hashable, CaseIterable {
    /// Reads at once what comes.
    case fast
    /// Asks for many before it reads the first.
    case pipelining
    /// A few KiB at a time, with pauses.
    case slow
    /// A byte a second of a long one, until the scenario ends: its payload is deleted or replaced long before.
    case crawling
    /// Stops for seconds in the middle of an answer.
    case stopping
    /// Waits until the answers lie in its socket, then for seconds, and only then reads.
    case queued
    /// Says that it will ask no more, waits until the daemon has closed its side, then for seconds,
    /// and only then reads.
    case late
    /// Goes away in the middle of an answer.
    case vanishing
    /// Asks for ranges, and waits before it reads.
    case ranges
    /// Takes gzip streams, and waits before it reads.
    case gzip

    /// The manner of the reader with this number: every sixteen readers have all of them, the
    /// sharpest several times.
    static func of(reader number: Int) -> ReadingManner {
        let manners: [ReadingManner] = [
            .queued, .fast, .late, .slow, .queued, .stopping, .ranges, .gzip, .queued, .late,
            .vanishing, .pipelining, .queued, .stopping, .fast, .crawling,
        ]
        return manners[number % manners.count]
    }
}

/// What a reader does with one connection.
struct ReadingPlan: Sendable {
    /// One request.
    struct Wanted: Sendable {
        var id: Int
        /// Which bytes of the payload; nil: all.
        var range: Range<Int>?
        var acceptsGzip: Bool
    }

    let manner: ReadingManner
    /// The requests that are sent together, batch by batch.
    var batches: [[Wanted]] = []
    /// How long nothing is read once the answers lie in the socket, in milliseconds.
    var pauseMilliseconds = 0
    /// After how many bytes of an answer's body it stops for that long; nil: before all of them.
    var pausesAfter: Int?
    /// After how many bytes of an answer's body it goes away.
    var vanishesAfter: Int?
    /// Bytes taken at once, and how long it waits between, in microseconds.
    var pieceByteCountMax = 65_536
    var pieceMicroseconds = 0
    /// Whether it says with its last request that this is the last.
    var isLast = false
    /// How long it waits before its next connection, in microseconds.
    var restMicroseconds = 0

    /// The next plan of a reader.
    init(
        _ manner: ReadingManner, _ ledger: EditionLedger, _ pauses: ClosedRange<Int>,
        using generator: inout SeededGenerator
    ) {
        self.manner = manner
        let pause = Int.random(in: pauses, using: &generator)
        switch manner {
        case .fast:
            restMicroseconds = Int.random(in: 0...40_000, using: &generator)
            batches = (0..<Int.random(in: 1...10, using: &generator)).map { _ in
                Self.wanted(1, ledger, using: &generator)
            }
        case .pipelining:
            restMicroseconds = Int.random(in: 0...100_000, using: &generator)
            let count = Int.random(in: 2...16, using: &generator)
            batches = [Self.wanted(count, ledger, using: &generator)]
        case .slow:
            batches = [Self.wanted(2, ledger, using: &generator)]
            pieceByteCountMax = generator.logarithmic(512...16_384)
            pieceMicroseconds = Int.random(in: 2_000...50_000, using: &generator)
        case .crawling:
            batches = [Self.wanted(1, ledger, using: &generator)]
            batches[0][0].id = min(batches[0][0].id / 16 * 16 + 14, ledger.idCount - 1)
            (pieceByteCountMax, pieceMicroseconds) = (1, 1_000_000)
        case .stopping:
            batches = [Self.wanted(2, ledger, using: &generator)]
            pauseMilliseconds = pause
            pausesAfter = generator.logarithmic(1...65_536)
        case .queued:
            // One answer, or small ones until the socket is full.
            let count = generator.chance(50) ? 1 : Int.random(in: 2...12, using: &generator)
            batches = [Self.wanted(count, ledger, using: &generator)]
            pauseMilliseconds = pause
        case .late:
            batches = [Self.wanted(1, ledger, using: &generator)]
            isLast = true
            pauseMilliseconds = pause
        case .vanishing:
            batches = [Self.wanted(3, ledger, using: &generator)]
            pauseMilliseconds = generator.chance(50) ? pause : 0
            vanishesAfter = generator.logarithmic(1...262_144)
        case .ranges:
            batches = [Self.wanted(3, ledger, using: &generator)]
            for index in batches[0].indices {
                let id = batches[0][index].id
                let lower = Int.random(
                    in: 0..<Edition.byteCountMin(of: id, seed: ledger.seed), using: &generator)
                let byteCountMax = Edition.byteCountMax(of: id, seed: ledger.seed)
                let upper = lower + generator.logarithmic(1...byteCountMax)
                batches[0][index].range = lower..<upper
            }
            pauseMilliseconds = pause
        case .gzip:
            batches = [Self.wanted(2, ledger, using: &generator)]
            for index in batches[0].indices { batches[0][index].acceptsGzip = true }
            pauseMilliseconds = pause
        }
    }

    private static func wanted(
        _ count: Int, _ ledger: EditionLedger, using generator: inout SeededGenerator
    ) -> [Wanted] {
        (0..<count).map { _ in
            Wanted(
                id: Int.random(in: 0..<ledger.idCount, using: &generator), range: nil,
                acceptsGzip: generator.chance(20))
        }
    }
}
