import BlobProtocol
import BlobStore

enum BodyFailure: Error {
    /// The client's error. In a chunked body, the end of the body is then unknown.
    case wire(ProtocolError)
    case store(StoreError)
}

func onWire<Value>(
    _ work: @autoclosure () throws(ProtocolError) -> Value
) throws(BodyFailure) -> Value {
    do throws(ProtocolError) { return try work() } catch { throw .wire(error) }
}

func onStore<Value>(
    _ work: @autoclosure () throws(StoreError) -> Value
) throws(BodyFailure) -> Value {
    do throws(StoreError) { return try work() } catch { throw .store(error) }
}

/// A body that is being received. Only its connection's worker uses it (see ``Connection``).
final class Upload {
    let plan: BodyPlan
    let reply: PendingReply
    /// Whether the client waits for permission to send, which it has not got yet.
    var awaitsContinue: Bool
    var coding: BodyCoding { plan.coding }
    var byteCountMax: Int { plan.byteCountMax }
    @exclusivity(unchecked) private(set) var framing: Framing
    @exclusivity(unchecked) private(set) var byteCount = 0
    @exclusivity(unchecked) var content = BodyContent()
    /// Its memory, from the first byte until the writer has finished.
    @exclusivity(unchecked) var reservation: BodyReservation?
    /// Whether the whole body had arrived when its first byte was received.
    @exclusivity(unchecked) var isWhole = false
    var waitEnd = Instant.now
    var pace = Pace(since: .now)

    enum Framing {
        case counted(UInt64)
        case chunked(ChunkedDecoder)
    }

    init(_ plan: BodyPlan, framing: Framing, form: PendingReply.Form) {
        self.plan = plan
        self.framing = framing
        awaitsContinue = false
        if case .http(let head) = form.dialect { awaitsContinue = head.expectsContinue }
        reply = PendingReply(reply: plan.reply, form: form)
    }

    var missingByteCount: UInt64? {
        guard case .counted(let count) = framing else { return nil }
        return count
    }

    var isComplete: Bool {
        switch framing {
        case .counted(let count): count == 0
        case .chunked(let decoder): decoder.isComplete
        }
    }

    /// Memory is reserved as bytes arrive (``makeRoom(for:)``).
    func begin(_ store: BlobStore, _ reservation: BodyReservation, asOf now: Instant) {
        self.reservation = reservation
        pace = Pace(since: now)
        content = BodyContent(plan, in: store)
    }

    /// Returns how many bytes of `bytes` belong to the body.
    func receive(_ bytes: RawSpan) throws(BodyFailure) -> Int {
        switch framing {
        case .counted(let missing):
            let count = Int(min(missing, UInt64(bytes.byteCount)))
            try append(bytes.extracting(first: count))
            framing = .counted(missing - UInt64(count))
            return count
        case .chunked(var decoder):
            var used = 0
            while used < bytes.byteCount, !decoder.isComplete {
                let rest = bytes.extracting(droppingFirst: used)
                let step = try onWire(try decoder.next(rest))
                // Checked as soon as a chunk announces its length, before its bytes arrive.
                let left = byteCountMax - byteCount
                guard step.payload.count <= left,
                    decoder.announcedByteCount <= UInt64(left - step.payload.count)
                else { throw .wire(plan.tooLarge) }
                try append(step.payload.of(rest))
                used += step.consumed
            }
            framing = .chunked(decoder)
            return used
        }
    }

    private func append(_ bytes: RawSpan) throws(BodyFailure) {
        guard bytes.byteCount > 0 else { return }
        try content.append(bytes)
        byteCount += bytes.byteCount
    }

    func abandon() {
        content = BodyContent()
        reservation = nil
    }
}

// The memory of a body: reserved as bytes arrive, released when they move to a file.

extension Upload {
    private static let shortByteCountMax = 16 << 10
    /// The least memory that a body reserves. Reservations double as more bytes arrive.
    static let pieceByteCountMin = 1 << 10
    /// The most bytes that one byte of a gzip or deflate coding can produce: 258 for every two bits.
    static let inflationRatioMax = 1_032
    /// How long a body waits for memory before it is refused.
    private static let shortWaitMilliseconds = 500
    private static let longWaitMilliseconds = 5_000
    /// While others wait, a body slower than 64 KiB/s continues in a file or is refused.
    private static let paceByteCount = 16 << 10
    private static let stallMilliseconds = 250

    struct Pace {
        var since: Instant
        var byteCount = 0
    }

    /// Ensures room for the next `count` bytes: in memory or, if there is none, in a file. Returns what to wait for;
    /// nil: nothing.
    func makeRoom(for count: Int) throws(BodyFailure) -> BodyMemory.Need? {
        guard let reservation else { return nil }
        var count = count
        if let missing = missingByteCount {
            if byteCount == 0 { isWhole = missing <= UInt64(count) }
            count = Int(min(missing, UInt64(count)))
        }
        // Most bodies are short, and come with their heads.
        if isWhole, byteCount == 0, count <= Self.shortByteCountMax,
            reservation.grow(to: count, .whole)
        {
            content.reserveCapacity(count)
            return nil
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

    /// Reserves what a complete body needs to be finished.
    func makeRoomToFinish() -> BodyMemory.Need? {
        if coding == .identity, reservation?.spoolCount == 0 { return nil }
        // Decoded bytes are kept in memory, too: of a document, all of them.
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
        // A batch may be long, so it still counts as long.
        let kind: BodyKind = isDocument ? .long : .whole
        guard !reservation.grow(to: need, kind) else { return nil }
        return BodyMemory.Need(byteCount: need, kind: kind, takesSpool: false)
    }

    var reservedByteCount: Int { reservation?.byteCount ?? 0 }

    /// Returns how many bytes were released.
    func releaseMemory() throws(BodyFailure) -> Int {
        guard let reservation else { return 0 }
        let before = reservation.byteCount
        while content.canSpool, reservation.takeSpool() { try spool(reservation) }
        return before - reservation.byteCount
    }

    private func spool(_ reservation: BodyReservation) throws(BodyFailure) {
        try content.spool()
        // The file and the hash of the bytes still take some.
        reservation.shrink(
            to: max(content.heldByteCount, Self.pieceByteCountMin))
    }

    /// How many bytes to reserve for `need`: double the previous reservation, but at most what will arrive.
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

    func notePace(asOf now: Instant) {
        guard byteCount - pace.byteCount >= Self.paceByteCount else { return }
        pace = Pace(since: now, byteCount: byteCount)
    }

    func isStalled(asOf now: Instant) -> Bool {
        now.milliseconds(since: pace.since) >= Self.stallMilliseconds
    }
}
