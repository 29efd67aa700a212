import BlobProtocol
import BlobStore

/// A payload that is being received.
final class Upload {
    let draft: PublicationDraft
    /// How to answer in the end.
    let reply: PendingReply
    /// What must hold of the payload that is there already.
    let precondition: Precondition
    /// Whether the client waits for `100 Continue`.
    let expectsContinue: Bool
    private(set) var framing: Framing
    private(set) var byteCount = 0
    private var writer: PayloadWriter?
    var reservation: BodyReservation?

    /// How the end of the body is known.
    enum Framing {
        /// So many bytes are still to come.
        case counted(UInt64)
        case chunked(ChunkedDecoder)
    }

    init(
        _ draft: PublicationDraft, framing: Framing, reply: PendingReply,
        precondition: Precondition = Precondition(), expectsContinue: Bool = false
    ) {
        self.draft = draft
        self.framing = framing
        self.reply = reply
        self.precondition = precondition
        self.expectsContinue = expectsContinue
    }

    /// The memory the body may need before it is committed, in bytes: longer ones are spooled.
    var memoryByteCount: Int {
        let max = StoreLimits.payloadInMemoryByteCountMax
        guard case .counted(let count) = framing, count < UInt64(max) else { return max }
        return Int(count)
    }

    /// How many bytes of the body are still to come, when that is known.
    var missingByteCount: UInt64? {
        guard case .counted(let count) = framing else { return nil }
        return count
    }

    /// Whether all of the body is there.
    var isComplete: Bool {
        switch framing {
        case .counted(let count): count == 0
        case .chunked(let decoder): decoder.isComplete
        }
    }

    /// Memory has been given: bytes may come.
    func begin(_ writer: consuming PayloadWriter, _ reservation: BodyReservation) {
        self.writer = consume writer
        self.reservation = reservation
    }

    /// Why a body cannot be taken.
    enum Failure: Error {
        /// What the client sent is wrong; for chunks, where the body ends is then unknown.
        case wire(ProtocolError)
        case store(StoreError)
    }

    /// Takes in what belongs to the body from the start of `bytes`.
    ///
    /// - Returns: how many bytes were used; what is behind them belongs to the next request.
    func receive(_ bytes: RawSpan, byteCountMax: Int) throws(Failure) -> Int {
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
                let step: ChunkedDecoder.Step
                do throws(ProtocolError) {
                    step = try decoder.next(rest)
                } catch {
                    throw .wire(error)
                }
                guard step.payload.count <= byteCountMax - byteCount else {
                    throw .wire(Self.tooLarge(limit: byteCountMax))
                }
                try append(step.payload.of(rest))
                used += step.consumed
            }
            framing = .chunked(decoder)
            return used
        }
    }

    private func append(_ bytes: RawSpan) throws(Failure) {
        guard bytes.byteCount > 0 else { return }
        do throws(StoreError) {
            try writer?.append(bytes)
        } catch {
            throw .store(error)
        }
        byteCount += bytes.byteCount
    }

    /// Hands the payload out, to be finished. Once.
    func takeWriter() -> PayloadWriter? {
        writer.take()
    }

    /// Gives up: bytes, spool and memory are let go of.
    func abandon() {
        writer = nil
        reservation = nil
    }

    /// The error for a body over the limit.
    static func tooLarge(limit: Int) -> ProtocolError {
        ProtocolError(
            .payloadTooLarge, "the payload is larger than \(limit) bytes", limit: limit)
    }
}
