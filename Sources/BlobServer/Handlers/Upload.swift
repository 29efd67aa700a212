import BlobProtocol
import BlobStore

enum BodyFailure: Error {
    /// What the client sent is wrong; for chunks, where the body ends is then unknown.
    case wire(ProtocolError)
    case store(StoreError)
}

/// What `work` comes to, or a body's failure.
func onWire<Value>(
    _ work: @autoclosure () throws(ProtocolError) -> Value
) throws(BodyFailure) -> Value {
    do throws(ProtocolError) { return try work() } catch { throw .wire(error) }
}

/// What `work` comes to, or a body's failure.
func onStore<Value>(
    _ work: @autoclosure () throws(StoreError) -> Value
) throws(BodyFailure) -> Value {
    do throws(StoreError) { return try work() } catch { throw .store(error) }
}

/// A body that is being received.
///
/// Its connection's worker alone uses it, and no property that is not checked for exclusive use is
/// ever borrowed by a call that could reach it by another way (see ``Connection``).
final class Upload {
    let plan: BodyPlan
    let reply: PendingReply
    /// Whether the client waits to be told that it may send, and has not been.
    var awaitsContinue: Bool
    /// The bytes are decoded when all of them are there.
    var coding: BodyCoding { plan.coding }
    var byteCountMax: Int { plan.byteCountMax }
    @exclusivity(unchecked) private(set) var framing: Framing
    @exclusivity(unchecked) private(set) var byteCount = 0
    @exclusivity(unchecked) var content = BodyContent()
    /// Its memory, from the first byte on until the writer is done with it.
    @exclusivity(unchecked) var reservation: BodyReservation?
    /// Whether all of it was here when its first byte was taken in.
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

    /// Bytes may come; what memory they need is reserved when they do (``makeRoom(for:)``).
    func begin(_ store: BlobStore, _ reservation: BodyReservation, asOf now: Instant) {
        self.reservation = reservation
        pace = Pace(since: now)
        content = BodyContent(plan, in: store)
    }

    /// Takes in what belongs to the body from the start of `bytes`, and returns how many bytes that was.
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
                // Also when a chunk says that it is longer, before its bytes come.
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

    /// Gives up: bytes, spool file and memory are released.
    func abandon() {
        content = BodyContent()
        reservation = nil
    }
}
