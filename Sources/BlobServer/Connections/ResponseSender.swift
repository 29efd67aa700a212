import BlobProtocol
import BlobStore
import CLinux
import Logging

/// Sends answers. Heads and short payloads are copied, many in one call (`sendmsg`). Long payloads are linked:
/// `sendfile` hands the receiver the pages of `data.mdb`, and a lease keeps them until it has read them.
final class ResponseSender {
    /// Inflating a byte takes a worker as long as sending this many.
    private static let inflatedByteCost = 4
    /// A socket's buffer is enlarged for a call that sends at least this many copied bytes.
    private static let widenedFromByteCount = 128 << 10

    private let counters: WorkerCounters
    private var errorLog: RateLimitedLog
    private let pages: DataPages?
    private let slots: DrainSlots
    /// The shortest stretch that is stored in pages of its own, in bytes.
    private let stretchByteCountMin: Int
    @exclusivity(unchecked) private var pieces = PieceList()

    init(counters: WorkerCounters, pages: DataPages?, slots: DrainSlots, log: Logger) {
        self.counters = counters
        self.pages = pages
        self.slots = slots
        stretchByteCountMin = pages?.stretchByteCountMin ?? .max
        errorLog = RateLimitedLog(log)
    }

    /// Sends a connection's section of a batch. The rest is queued, under leases taken in the snapshot that filled the
    /// batch.
    func send(
        _ section: AnswerBatch.Section, of batch: borrowing AnswerBatch,
        to connection: Connection, in snapshot: borrowing Snapshot, budget: inout Int
    ) {
        guard !section.isEmpty else { return }
        let before = connection.sentByteCount
        let links = section.isLinked && mayLink(to: connection)
        if connection.output.isEmpty, !connection.state.isBroken {
            // The pieces point into the batch's heads, which this call borrows, and into the map, which `snapshot`
            // keeps.
            batch.heads.withUnsafeBytes {
                sendAnswers(section, of: batch, $0, linking: links, to: connection)
            }
        }
        let sent = connection.sentByteCount - before
        budget -= sent
        // The usual case: everything was sent, and nothing was linked.
        if sent == section.byteCount, !links { return }
        queueRest(section, of: batch, after: sent, linking: links, to: connection, in: snapshot)
    }

    /// The connection keeps its slot until its peer has read everything.
    @inline(__always)
    private func mayLink(to connection: Connection) -> Bool {
        connection.drainSlot == .taken || takeSlot(for: connection)
    }

    private func takeSlot(for connection: Connection) -> Bool {
        connection.drainSlot = slots.take(for: connection.peer) ? .taken : .refused
        return connection.drainSlot == .taken
    }

    /// Sends a batch without bytes of blobs: errors, outcomes, documents. Needs no snapshot.
    func sendPlain(
        _ batch: borrowing AnswerBatch, to connection: Connection, budget: inout Int
    ) {
        guard !batch.isEmpty, !connection.state.isBroken else { return }
        var sent = 0
        if connection.output.isEmpty {
            sent = note(connection.socket.send(batch.heads.span.bytes), connection)
            budget -= sent
        }
        connection.output.append(batch.heads[sent...])
    }

    /// Sends queued output until none is left, the socket is full, or `budget` is used up.
    func sendQueued(
        to connection: Connection, in snapshot: borrowing Snapshot, budget: inout Int
    ) {
        connection.output.isBlocked = false
        while let piece = connection.output.first, budget > 0, !connection.output.isBlocked,
            !connection.state.isBroken
        {
            switch piece {
            case .bytes(let bytes, let sent):
                let rest = bytes.span.bytes.extracting(droppingFirst: sent)
                let count = note(
                    connection.socket.send(rest), connection, wanted: rest.byteCount)
                connection.output.advance(count)
                budget -= count
            case .blob(let stream):
                do throws(StoreError) {
                    // Inflating uses up the budget too, whether the bytes are sent or not.
                    let inflated = try stream.inflate(in: snapshot)
                    if inflated > 0 {
                        budget -= inflated * Self.inflatedByteCost
                        continue
                    }
                    let sent =
                        stream.isInflated
                        ? sendInflated(stream, to: connection)
                        : try sendStored(stream, to: connection, in: snapshot)
                    stream.advance(sent)
                    budget -= sent
                    if stream.isAtEnd {
                        if stream.isLinked { connection.keepUntilRead(stream.blob) }
                        connection.output.removeFirst()
                    }
                } catch {
                    // The head is sent, so cutting the answer off is the only way to report an error.
                    abort(connection, error)
                }
            }
        }
        if connection.state.isBroken { connection.abandonOutput() }
    }

    /// Sends the answers until the socket is full. Copied pieces are collected, adjacent heads as one, and sent before
    /// each linked piece and at the end.
    private func sendAnswers(
        _ section: AnswerBatch.Section, of batch: borrowing AnswerBatch,
        _ heads: UnsafeRawBufferPointer, linking links: Bool, to connection: Connection
    ) {
        var headStart = section.headStart
        var mapped = section.mappedStart
        for index in section.firstAnswer..<section.answerEnd {
            let answer = batch.answers[index]
            if mapped < answer.mappedEnd {
                pieces.append(UnsafeRawBufferPointer(rebasing: heads[headStart..<answer.headEnd]))
                headStart = answer.headEnd
            }
            while mapped < answer.mappedEnd {
                let bytes = batch.mapped[mapped]
                mapped += 1
                if links, answer.isLinked, let offset = place(of: bytes) {
                    guard sendListed(to: connection),
                        link(bytes.count, at: offset, to: connection)
                    else { return }
                } else {
                    pieces.append(bytes)
                }
            }
        }
        if headStart < section.headEnd {
            pieces.append(UnsafeRawBufferPointer(rebasing: heads[headStart..<section.headEnd]))
        }
        _ = sendListed(to: connection)
    }

    /// Sends the listed pieces, and returns whether all were accepted: a socket that takes only some is full.
    private func sendListed(to connection: Connection) -> Bool {
        guard !pieces.isEmpty else { return true }
        let wanted = pieces.byteCount
        if wanted >= Self.widenedFromByteCount { widen(connection) }
        return note(pieces.send(to: connection.socket), connection, wanted: wanted) == wanted
    }

    @inline(__always)
    private func widen(_ connection: Connection) {
        guard !connection.isWidened, connection.drainSlot != .refused else { return }
        connection.isWidened = true
        connection.socket.widen(to: Socket.widenedByteCount)
    }

    /// Where in the file bytes lie that can be linked: not those of a change that is still in memory.
    @inline(__always)
    private func place(of bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= stretchByteCountMin, let start = bytes.baseAddress else { return nil }
        return pages?.offset(of: start)
    }

    private func link(_ byteCount: Int, at offset: Int, to connection: Connection) -> Bool {
        guard let pages else { return true }
        widen(connection)
        let transfer = connection.socket.send(
            from: pages.descriptor, at: offset, byteCount: byteCount)
        return note(transfer, connection, wanted: byteCount) == byteCount
    }

    private func queueRest(
        _ section: AnswerBatch.Section, of batch: borrowing AnswerBatch, after sent: Int,
        linking links: Bool, to connection: Connection, in snapshot: borrowing Snapshot
    ) {
        var left = sent
        var headStart = section.headStart
        for index in section.firstAnswer..<section.answerEnd {
            let answer = batch.answers[index]
            let headCount = answer.headEnd - headStart
            if left < headCount {
                connection.output.append(batch.heads[(headStart + left)..<answer.headEnd])
            }
            left = max(0, left - headCount)
            headStart = answer.headEnd
            switch answer.body {
            case .none: break
            case .stored(var range):
                let count = min(left, range.byteCount)
                left -= count
                if count < range.byteCount {
                    range.from += count
                    connection.output.append(
                        BlobStream(range, isLinked: links && answer.isLinked, in: snapshot))
                } else if links, answer.isLinked {
                    connection.keepUntilRead(range.blob)
                }
            case .inflated(let blob, let from, let upTo):
                guard !connection.state.isBroken else { break }
                connection.output.append(
                    BlobStream(inflating: blob, from: from, upTo: upTo, in: snapshot))
            }
        }
    }

    /// Sends the next stored bytes with one call: of linked ones one chunk, of copied ones as many as the call takes.
    private func sendStored(
        _ stream: BlobStream, to connection: Connection, in snapshot: borrowing Snapshot
    ) throws(StoreError) -> Int {
        let before = connection.sentByteCount
        var position = stream.position
        while position < stream.end, pieces.byteCount < AnswerBatch.batchByteCountMax {
            let stored: RawSpan
            do throws(StoreError) {
                stored = try snapshot.storedBytes(of: stream.blob, from: position)
            } catch {
                // The bytes before the error are valid, and are sent first.
                if !pieces.isEmpty { break }
                throw error
            }
            let bytes = stored.extracting(first: min(stored.byteCount, stream.end - position))
            position += bytes.byteCount
            let offset = stream.isLinked ? bytes.withUnsafeBytes { place(of: $0) } : nil
            if let offset {
                if !pieces.isEmpty { break }
                _ = link(bytes.byteCount, at: offset, to: connection)
                return connection.sentByteCount - before
            }
            // The map keeps these bytes while `snapshot` is open.
            bytes.withUnsafeBytes { pieces.append($0) }
        }
        _ = sendListed(to: connection)
        return connection.sentByteCount - before
    }

    private func sendInflated(_ stream: BlobStream, to connection: Connection) -> Int {
        let transfer = stream.inflated.withUnsafeBytes { bytes in
            connection.socket.send(UnsafeRawBufferPointer(rebasing: bytes[stream.inflatedSent...]))
        }
        return note(transfer, connection)
    }

    private func abort(_ connection: Connection, _ error: StoreError) {
        errorLog.note(error)
        counters.count(ProtocolError(error).code)
        connection.state.fail()
    }

    /// Records the outcome of a call that was given `wanted` bytes: a socket that takes fewer is full.
    private func note(
        _ transfer: Socket.Transfer, _ connection: Connection, wanted: Int = 0
    ) -> Int {
        switch transfer {
        case .moved(let count):
            connection.sentByteCount += count
            counters.bytesSent.add(count)
            if count < wanted { connection.output.isBlocked = true }
            return count
        case .blocked:
            connection.output.isBlocked = true
            return 0
        case .ended:
            connection.state.fail()
            return 0
        }
    }
}
