import BlobProtocol
import BlobStore

/// Why a body cannot be taken.
enum BodyFailure: Error {
    /// What the client sent is wrong; for chunks, where the body ends is then unknown.
    case wire(ProtocolError)
    case store(StoreError)
}

/// A body that is being received.
///
/// Its connection's worker alone uses it, and no property that is not checked for exclusive use is
/// ever lent to a call that could reach it by another way (see ``Connection``).
final class Upload {
    /// What the bytes are.
    enum Purpose: Sendable {
        /// A part's payload, by itself.
        case payload(PublicationDraft)
        /// What a resource takes.
        indirect case resource(BodyPlan)
    }

    let purpose: Purpose
    /// How to answer in the end.
    let reply: PendingReply
    /// Whether the client waits for `100 Continue`.
    let expectsContinue: Bool
    /// The most bytes there may be.
    let byteCountMax: Int
    @exclusivity(unchecked) private(set) var framing: Framing
    @exclusivity(unchecked) private(set) var byteCount = 0
    /// Where the bytes go: one of the three.
    @exclusivity(unchecked) private var writer: PayloadWriter?
    private var document: [UInt8] = []
    private var multipart: MultipartReceiver?
    @exclusivity(unchecked) var reservation: BodyReservation?

    /// How the end of the body is known.
    enum Framing {
        /// So many bytes are still to come.
        case counted(UInt64)
        case chunked(ChunkedDecoder)
    }

    init(
        _ purpose: Purpose, framing: Framing, byteCountMax: Int, reply: PendingReply,
        expectsContinue: Bool = false
    ) {
        self.purpose = purpose
        self.framing = framing
        self.byteCountMax = byteCountMax
        self.reply = reply
        self.expectsContinue = expectsContinue
    }

    /// The memory the body may need before it is committed, in bytes: longer ones are spooled.
    var memoryByteCount: Int {
        let max =
            switch purpose {
            case .payload: StoreLimits.payloadInMemoryByteCountMax
            case .resource(let plan): plan.memoryByteCountMax
            }
        guard case .counted(let count) = framing, count < UInt64(max) else { return max }
        return Int(count)
    }

    /// For how many bodies it counts: each file may need a descriptor.
    var bodyCount: Int {
        switch purpose {
        case .payload: 1
        case .resource(let plan): plan.bodyCount
        }
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
    func begin(_ store: BlobStore, _ reservation: BodyReservation) {
        self.reservation = reservation
        let expected = Int(clamping: missingByteCount ?? 0)
        switch purpose {
        case .payload: writer = store.makePayloadWriter(expecting: expected)
        case .resource(let plan):
            switch plan.kind {
            case .heldBlob: writer = store.makePayloadWriter(expecting: expected)
            case .multipart(_, let boundary):
                multipart = MultipartReceiver(store, boundary: boundary)
            default: document.reserveCapacity(min(expected, plan.byteCountMax))
            }
        }
    }

    /// Takes in what belongs to the body from the start of `bytes`.
    ///
    /// - Returns: how many bytes were used; what is behind them belongs to the next request.
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

    private func append(_ bytes: RawSpan) throws(BodyFailure) {
        guard bytes.byteCount > 0 else { return }
        if let multipart {
            try multipart.append(bytes)
        } else if writer != nil {
            do throws(StoreError) {
                try writer?.append(bytes)
            } catch {
                throw .store(error)
            }
        } else {
            document.append(contentsOf: bytes)
        }
        byteCount += bytes.byteCount
    }

    /// Hands the payload out, to be finished. Once.
    func takeWriter() -> PayloadWriter? {
        writer.take()
    }

    /// Hands the document out. Once.
    func takeDocument() -> [UInt8] {
        let taken = document
        document = []
        return taken
    }

    /// Hands the document and the files out. Once.
    func takeMultipart() -> MultipartReceiver? {
        let taken = multipart
        multipart = nil
        return taken
    }

    /// Gives up: bytes, spool and memory are let go of.
    func abandon() {
        writer = nil
        document = []
        multipart = nil
        reservation = nil
    }

    /// The error for a body over the limit.
    static func tooLarge(limit: Int) -> ProtocolError {
        ProtocolError(
            .payloadTooLarge, "the body is larger than \(limit) bytes", limit: limit)
    }
}
