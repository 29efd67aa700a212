import BlobProtocol
import BlobStore

// The memory of a body: reserved as its bytes come, released when they go to a file.

extension Upload {
    private static let shortByteCountMax = 16 << 10
    /// The least memory that a body reserves that is not known to need less, in bytes. It reserves twice as much each
    /// time, as its bytes come.
    static let pieceByteCountMin = 1 << 10
    /// How many bytes come out of one byte of a gzip or deflate coding at the most: 258 of each two bits.
    static let inflationRatioMax = 1_032
    /// How long a body waits for memory before it is refused.
    private static let shortWaitMilliseconds = 500
    private static let longWaitMilliseconds = 5_000
    /// While others wait, a body that has moved fewer bytes than this for this long, less than 64 KiB/s, continues in a
    /// file or is refused.
    private static let paceByteCount = 16 << 10
    private static let stallMilliseconds = 250

    struct Pace {
        var since: Instant
        var byteCount = 0
    }

    /// Makes sure that the next `count` bytes have a place: in memory or, where there is none for them, in a file.
    /// Returns what to wait for; nil: nothing.
    func makeRoom(for count: Int) throws(BodyFailure) -> BodyMemory.Need? {
        guard let reservation else { return nil }
        var count = count
        if let missing = missingByteCount {
            if byteCount == 0 { isWhole = missing <= UInt64(count) }
            count = Int(min(missing, UInt64(count)))
        }
        while true {
            let mustSpool = content.mustSpool(before: count)
            let need = content.heldByteCount + count
            if !mustSpool {
                if content.isSpooled || need <= reservation.byteCount { return nil }
                if reservation.grow(to: piece(for: need), kind(of: need)) {
                    content.reserveCapacity(reservation.byteCount)
                    return nil
                }
            }
            guard content.canSpool,
                reservation.spoolCount > content.spoolCount || reservation.takeSpool()
            else {
                return BodyMemory.Need(
                    byteCount: mustSpool ? nil : piece(for: need), kind: kind(of: need),
                    takesSpool: content.canSpool)
            }
            try spool(reservation)
        }
    }

    /// Reserves what the body needs once more when it is whole: what is in a file and shall be read, or may become
    /// short.
    func makeRoomToFinish() -> BodyMemory.Need? {
        // What is inside a coding is kept in memory, too: of a payload while it is short, of a document
        // all.
        let isDocument = plan.isDocument
        var more = content.finishingByteCount(isDocument: isDocument)
        if coding != .identity {
            more =
                isDocument
                ? more + min(plan.documentByteCountMax, byteCount * Self.inflationRatioMax)
                : StoreLimits.payloadInMemoryByteCountMax
        }
        guard more > 0, let reservation else { return nil }
        let need = content.heldByteCount + more
        // A batch may be long, and counts among the long ones also now.
        let kind: BodyKind = isDocument ? .long : .whole
        guard !reservation.grow(to: need, kind) else { return nil }
        return BodyMemory.Need(byteCount: need, kind: kind, takesSpool: false)
    }

    var reservedByteCount: Int { reservation?.byteCount ?? 0 }

    /// Moves what is in memory to files, as far as there are any. Returns how many bytes were released.
    func releaseMemory() throws(BodyFailure) -> Int {
        guard let reservation else { return 0 }
        let before = reservation.byteCount
        while content.canSpool, reservation.takeSpool() { try spool(reservation) }
        return before - reservation.byteCount
    }

    private func spool(_ reservation: BodyReservation) throws(BodyFailure) {
        try content.spool()
        // The file and the sum of what came still take some.
        reservation.shrink(
            to: max(content.heldByteCount, Self.pieceByteCountMin))
    }

    /// How many bytes to reserve for `need`: twice as much as before, and not more than will come.
    private func piece(for need: Int) -> Int {
        guard !isWhole else { return need }
        var piece = Self.pieceByteCountMin
        while piece < need { piece *= 2 }
        guard missingByteCount != nil else { return piece }
        return max(need, min(piece, announcedByteCount))
    }

    private var announcedByteCount: Int {
        byteCount + min(Int(clamping: missingByteCount ?? 0), byteCountMax)
    }

    private func kind(of need: Int) -> BodyKind {
        guard !isWhole else { return .whole }
        let length = max(need, announcedByteCount)
        return length <= Self.shortByteCountMax ? .short : .long
    }

    var waitMilliseconds: Int {
        kind(of: content.heldByteCount) == .long
            ? Self.longWaitMilliseconds : Self.shortWaitMilliseconds
    }

    // MARK: - Pace

    func notePace(asOf now: Instant) {
        guard byteCount - pace.byteCount >= Self.paceByteCount else { return }
        pace = Pace(since: now, byteCount: byteCount)
    }

    /// Whether it has hardly moved for a while.
    func isStalled(asOf now: Instant) -> Bool {
        now.milliseconds(since: pace.since) >= Self.stallMilliseconds
    }
}
