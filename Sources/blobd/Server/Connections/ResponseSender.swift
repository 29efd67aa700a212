import BlobProtocol
import BlobStore
import CLinux
import Logging

/// Sends answers: heads and mapped bytes leave in one call; what the socket does not take is
/// remembered with the connection and sent when it is ready again.
///
/// How bytes of a blob leave is decided in two places here, ``send(_:to:in:budget:)`` for the first
/// bytes of an answer and ``sendStored(_:to:in:)`` for the rest of a long one.
final class ResponseSender {
    private let counters: WorkerCounters
    private var troubles: TroubleLog
    private let pieces: UnsafeMutableBufferPointer<clinux_piece>

    /// Pieces in one call. An answer has a head and a chunk, two where a range begins in one chunk
    /// and ends in the next; all of a batch's further chunks together are as many as its bytes
    /// fill, which is under 16.
    private static let pieceCountMax = 3 * AnswerBatch.answerCountMax + 16

    init(counters: WorkerCounters, log: Logger) {
        self.counters = counters
        troubles = TroubleLog(log)
        pieces = .allocate(capacity: Self.pieceCountMax)
    }

    deinit {
        pieces.deallocate()
    }

    /// Sends a batch with one call, and queues what did not go.
    ///
    /// - Parameters:
    ///   - snapshot: the one whose bytes are in the batch; leases for what is queued are taken in
    ///     it.
    ///   - budget: is lowered by the bytes sent.
    func send(
        _ batch: borrowing AnswerBatch, to connection: Connection,
        in snapshot: borrowing Snapshot, budget: inout Int
    ) {
        guard !batch.isEmpty else { return }
        var sent = 0
        if connection.output.isEmpty, !connection.isBroken {
            // The pieces point into the batch's heads, which this call borrows, and into the map,
            // which `snapshot` keeps.
            batch.heads.withUnsafeBytes { heads in
                sent = note(sendPieces(gather(batch, heads), to: connection), connection, &budget)
            }
        }
        guard !connection.isBroken else { return }
        queueRest(of: batch, after: sent, to: connection, in: snapshot)
    }

    /// Sends a batch without bytes of blobs: errors, outcomes, documents. It needs no snapshot.
    func sendPlain(
        _ batch: borrowing AnswerBatch, to connection: Connection, budget: inout Int
    ) {
        guard !batch.isEmpty, !connection.isBroken else { return }
        var sent = 0
        if connection.output.isEmpty {
            sent = note(connection.socket.send(batch.heads.span.bytes), connection, &budget)
        }
        connection.output.append(batch.heads[sent...])
    }

    /// Sends what is queued, until it is empty, the socket takes no more, or `budget` is used up.
    func sendQueued(
        to connection: Connection, in snapshot: borrowing Snapshot, budget: inout Int
    ) {
        connection.isBlocked = false
        while let piece = connection.output.first, budget > 0, !connection.isBlocked,
            !connection.isBroken
        {
            switch piece {
            case .bytes(let bytes, let sent):
                let rest = bytes.span.bytes.extracting(droppingFirst: sent)
                connection.output.advance(
                    note(connection.socket.send(rest), connection, &budget))
            case .blob(let stream):
                do throws(StoreError) {
                    let transfer =
                        stream.inflater == nil
                        ? try sendStored(stream, to: connection, in: snapshot)
                        : try sendInflated(stream, to: connection, in: snapshot)
                    stream.advance(note(transfer, connection, &budget))
                    if stream.isAtEnd { connection.output.removeFirst() }
                } catch {
                    // The head is gone already, so the only way to say that the bytes are not right
                    // is not to send them.
                    abort(connection, error)
                }
            }
        }
        if connection.isBroken { connection.output.removeAll() }
    }

    // MARK: - Batches

    /// Lists the pieces of a batch, neighbouring heads as one.
    private func gather(
        _ batch: borrowing AnswerBatch, _ heads: UnsafeRawBufferPointer
    ) -> Int {
        var count = 0
        var headStart = 0
        var mapped = 0
        for answer in batch.answers {
            let isLast = answer.headEnd == heads.count
            if mapped < answer.mappedEnd || isLast {
                if answer.headEnd > headStart {
                    count = add(
                        UnsafeRawBufferPointer(rebasing: heads[headStart..<answer.headEnd]), count)
                    headStart = answer.headEnd
                }
            }
            while mapped < answer.mappedEnd {
                count = add(batch.mapped[mapped], count)
                mapped += 1
            }
            // What follows an answer that is not wholly mapped must not overtake it.
            if !answer.isWhole { break }
        }
        return count
    }

    private func add(_ bytes: UnsafeRawBufferPointer, _ count: Int) -> Int {
        precondition(count < pieces.count, "a batch has more pieces than it may")
        pieces[count] = clinux_piece(bytes: bytes.baseAddress, count: bytes.count)
        return count + 1
    }

    /// Queues what comes after the first `sent` bytes of a batch.
    private func queueRest(
        of batch: borrowing AnswerBatch, after sent: Int, to connection: Connection,
        in snapshot: borrowing Snapshot
    ) {
        var left = sent
        var headStart = 0
        for answer in batch.answers {
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
                range.from += count
                left -= count
                if range.byteCount > 0 {
                    connection.output.append(BlobStream(range, in: snapshot))
                }
            case .inflated(let blob, let from, let upTo):
                do throws(StoreError) {
                    connection.output.append(
                        try BlobStream(inflating: blob, from: from, upTo: upTo, in: snapshot))
                } catch {
                    return abort(connection, error)
                }
            }
        }
    }

    // MARK: - Blobs

    /// Sends the next stored bytes of a blob: as many chunks as one call takes.
    private func sendStored(
        _ stream: BlobStream, to connection: Connection, in snapshot: borrowing Snapshot
    ) throws(StoreError) -> Socket.Transfer {
        var count = 0
        var position = stream.position
        while position < stream.end, count < pieces.count,
            position - stream.position < AnswerBatch.gatheredByteCountMax
        {
            let bytes = try snapshot.storedBytes(of: stream.blob, from: position)
            let wanted = min(bytes.byteCount, stream.end - position)
            // The map keeps these bytes as long as `snapshot` is open, which is longer than the
            // call below.
            bytes.extracting(first: wanted).withUnsafeBytes { count = add($0, count) }
            position += wanted
        }
        return sendPieces(count, to: connection)
    }

    /// Sends the next inflated bytes of a blob, inflating more when none are left.
    private func sendInflated(
        _ stream: BlobStream, to connection: Connection, in snapshot: borrowing Snapshot
    ) throws(StoreError) -> Socket.Transfer {
        if stream.inflatedSent == stream.inflated.count {
            stream.inflated.removeAll(keepingCapacity: true)
            stream.inflatedSent = 0
            let wanted = min(Inflater.pieceByteCount, stream.end - stream.position)
            let count = try stream.inflater?.read(
                from: snapshot, into: &stream.inflated, byteCountMax: wanted)
            guard let count, count > 0 else {
                throw .corrupt("\(stream.blob.digest) ends too early")
            }
        }
        let transfer = stream.inflated.withUnsafeBytes { bytes in
            connection.socket.send(UnsafeRawBufferPointer(rebasing: bytes[stream.inflatedSent...]))
        }
        if case .moved(let count) = transfer { stream.inflatedSent += count }
        return transfer
    }

    /// Sends the first `count` pieces with one call. A socket that takes only some of them is full.
    private func sendPieces(_ count: Int, to connection: Connection) -> Socket.Transfer {
        let listed = UnsafeBufferPointer(rebasing: pieces[0..<count])
        let transfer = connection.socket.send(listed)
        if case .moved(let moved) = transfer {
            connection.isBlocked = moved < listed.reduce(0) { $0 + $1.count }
        }
        return transfer
    }

    /// Ends a connection in the middle of an answer.
    private func abort(_ connection: Connection, _ error: StoreError) {
        troubles.note(error)
        counters.count(ProtocolError(error).code)
        connection.isBroken = true
    }

    /// Takes note of what a call did; returns the bytes that were moved.
    private func note(
        _ transfer: Socket.Transfer, _ connection: Connection, _ budget: inout Int
    ) -> Int {
        switch transfer {
        case .moved(let count):
            connection.sentByteCount += count
            counters.bytesSent.add(count)
            budget -= count
            return count
        case .blocked:
            connection.isBlocked = true
            return 0
        case .ended:
            connection.isBroken = true
            return 0
        }
    }
}
