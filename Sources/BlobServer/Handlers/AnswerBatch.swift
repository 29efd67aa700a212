import BlobProtocol
import BlobStore

struct StoredRange {
    var blob: BlobReference
    var from: Int
    var upTo: Int

    var byteCount: Int { upTo - from }
}

/// One answer: a section of ``AnswerBatch/heads``, optionally followed by bytes of a blob.
struct BatchedAnswer {
    enum Body {
        case none
        case stored(StoredRange)
        /// Inflated bytes of a gzip-coded blob.
        case inflated(BlobReference, from: Int, upTo: Int)

        var storedByteCount: Int {
            if case .stored(let range) = self { range.byteCount } else { 0 }
        }
    }

    /// Where the answer's head ends in ``AnswerBatch/heads``; it begins where the previous one ended.
    var headEnd: Int
    var body: Body
    /// Where the answer's pieces end in ``AnswerBatch/mapped``.
    var mappedEnd: Int
    /// Whether the body is sent without a copy, so that it needs a lease until it is read.
    var isLinked: Bool
    /// Whether the head and the mapped pieces are the whole answer, so that another answer may follow.
    var isWhole: Bool
    /// The status of a fetch, whose head names a payload; 0: not a fetch.
    var fetchStatus: UInt16
}

/// The answers to a batch of requests: a ``RequestHandler`` fills it, a ``ResponseSender`` sends it. Each connection
/// has a ``Section``. It is reused, so answering allocates nothing.
struct AnswerBatch: ~Copyable {
    static let keptBufferByteCountMax = 512 << 10

    /// The heads and small bodies of all answers, concatenated.
    var heads: [UInt8] = []
    private(set) var answers = TrivialArray<BatchedAnswer>(capacity: answerCountMax)
    var scratch = Scratch()

    struct Scratch {
        var tag: [UInt8] = []
        var gzipTag: [UInt8] = []
    }

    /// Payload bytes in the map, looked up and checked. Valid while the snapshot that fills the batch is open.
    private(set) var mapped = TrivialArray<UnsafeRawBufferPointer>(capacity: answerCountMax)
    private var mappedByteCount = 0
    private var mappedByteCountBefore = 0
    /// Whether the batch contains only the beginning of its last answer.
    private var isOpen = false
    private var sectionStart = Section()
    private var sectionEndMax = sectionAnswerCountMax
    private var mappedByteCountOfSections = 0

    /// Where one connection's answers are in the batch.
    struct Section {
        var firstAnswer = 0
        var answerEnd = 0
        var headStart = 0
        var headEnd = 0
        var mappedStart = 0
        /// Bytes to send from ``heads`` and ``mapped``; `Int.max` if more of a long answer will follow.
        var byteCount = 0
        var isLinked = false

        var isEmpty: Bool { firstAnswer == answerEnd }
    }

    var section: Section {
        var section = sectionStart
        section.answerEnd = answers.count
        section.headEnd = heads.count
        section.byteCount =
            isOpen
            ? .max
            : heads.count - section.headStart + mappedByteCount - mappedByteCountOfSections
        return section
    }

    let linkedByteCountMin: Int
    /// Bodies of at least `linkedByteCountMin` bytes are linked, in stretches of at least this many (``DataPages``).
    private let stretchByteCountMin: Int

    init(linkedByteCountMin: Int, stretchByteCountMin: Int = DataPages.byteCountMin) {
        self.linkedByteCountMin = linkedByteCountMin
        self.stretchByteCountMin = stretchByteCountMin
    }

    static let answerCountMax = 256
    static let sectionAnswerCountMax = WireLimits.requestsInFlightMax
    /// From this many bytes on, no answer is added and no chunk is looked up: more than a socket takes at once.
    static let batchByteCountMax = 256 << 10

    /// Bodies up to this many bytes are copied after their head, so that the kernel sees one piece. Measured with 16
    /// connections, pipelined: 300 bytes are 1.27 times as fast, 1 KiB 1.13 times, 2 KiB 0.94 times.
    static let copiedByteCountMax = 1_024

    var isFull: Bool { isFull(answers.count >= Self.answerCountMax) }

    var isSectionFull: Bool { isFull(answers.count >= sectionEndMax) }

    private func isFull(_ hasAllAnswers: Bool) -> Bool {
        isOpen || hasAllAnswers || heads.count + mappedByteCount >= Self.batchByteCountMax
    }

    var isEmpty: Bool { answers.isEmpty }

    /// The head of an answer, followed by its body if that is short.
    @_lifetime(borrow self)
    func head(_ index: Int) -> RawSpan {
        let start = index > 0 ? answers[index - 1].headEnd : 0
        return heads.span.bytes.extracting(start..<answers[index].headEnd)
    }

    var lastByteCount: Int {
        guard let last = answers.last else { return 0 }
        let headByteCount = head(answers.count - 1).byteCount
        switch last.body {
        case .none: return headByteCount
        case .stored(let range): return headByteCount + range.byteCount
        case .inflated(_, let from, let upTo): return headByteCount + upTo - from
        }
    }

    /// The next answer belongs to another connection. The batch must not be full.
    mutating func beginSection() {
        sectionStart = Section(
            firstAnswer: answers.count, headStart: heads.count, mappedStart: mapped.count)
        mappedByteCountOfSections = mappedByteCount
        sectionEndMax = min(Self.answerCountMax, answers.count + Self.sectionAnswerCountMax)
    }

    mutating func reset() {
        heads.removeAll(keepingCapacity: true)
        answers.removeAll()
        mapped.removeAll()
        mappedByteCount = 0
        mappedByteCountBefore = 0
        isOpen = false
        sectionStart = Section()
        sectionEndMax = Self.sectionAnswerCountMax
        mappedByteCountOfSections = 0
    }

    mutating func releaseMemory() {
        if heads.capacity > Self.keptBufferByteCountMax { heads = [] }
    }

    /// Looks up the first bytes of `range`: as many as one call can send, at least one chunk. Called before the head is
    /// written, so that a damaged chunk can still be answered with an error.
    mutating func map(
        _ range: StoredRange, in snapshot: borrowing Snapshot
    ) throws(StoreError) {
        let count = mapped.count
        let byteCount = mappedByteCount
        var position = range.from
        do throws(StoreError) {
            while position < range.upTo, mappedByteCount - byteCount < Self.batchByteCountMax {
                let bytes = try snapshot.storedBytes(of: range.blob, from: position)
                let wanted = min(bytes.byteCount, range.upTo - position)
                // The span belongs to the snapshot, which stays open until the batch is sent and reset.
                bytes.extracting(first: wanted).withUnsafeBytes { mapped.append($0) }
                mappedByteCount += wanted
                position += wanted
            }
        } catch {
            mapped.truncate(to: count)
            mappedByteCount = byteCount
            throw error
        }
    }

    /// Like `map(_:in:)`, but for a whole payload as it is stored.
    mutating func map(_ payload: Payload) throws(StoreError) {
        let count = mapped.count
        let byteCount = mappedByteCount
        do throws(StoreError) {
            for index in 0..<payload.chunkCount {
                if mappedByteCount - byteCount >= Self.batchByteCountMax { break }
                let bytes = try payload.storedChunk(index)
                // The span belongs to the snapshot, which stays open until the batch is sent and reset.
                bytes.withUnsafeBytes { mapped.append($0) }
                mappedByteCount += bytes.byteCount
            }
        } catch {
            mapped.truncate(to: count)
            mappedByteCount = byteCount
            throw error
        }
    }

    /// How many bytes to insert before the end of the head, which is `rest` bytes long, so that the first page of a
    /// linked body is at a multiple of 64 bytes from the answer's start.
    func alignment(of range: StoredRange, after rest: Int) -> Int {
        guard range.byteCount >= linkedByteCountMin else { return 0 }
        let before = answers.last
        let headByteCount = heads.count - (before?.headEnd ?? 0) + rest
        let first = mapped[before?.mappedEnd ?? 0].count
        let copied = first < stretchByteCountMin ? first : 0
        return -(headByteCount + copied) & 63
    }

    private mutating func copyMapped() {
        let start = answers.last?.mappedEnd ?? 0
        for index in start..<mapped.count {
            heads.append(contentsOf: mapped[index])
            mappedByteCount -= mapped[index].count
        }
        mapped.truncate(to: start)
    }

    /// Ends an answer, which consists of everything appended to ``heads`` and mapped since the last one.
    mutating func endAnswer(_ body: BatchedAnswer.Body = .none, fetchStatus: UInt16 = 0) {
        var body = body
        if case .stored(let range) = body, range.byteCount <= Self.copiedByteCountMax {
            copyMapped()
            body = .none
        }
        var isWhole = true
        var isLinked = false
        switch body {
        case .none: break
        case .stored(let range):
            isWhole = mappedByteCount - mappedByteCountBefore == range.byteCount
            isLinked = range.byteCount >= linkedByteCountMin
            if isLinked { sectionStart.isLinked = true }
        case .inflated: isWhole = false
        }
        mappedByteCountBefore = mappedByteCount
        isOpen = !isWhole
        answers.append(
            BatchedAnswer(
                headEnd: heads.count, body: body, mappedEnd: mapped.count, isLinked: isLinked,
                isWhole: isWhole, fetchStatus: fetchStatus))
    }
}
