/// One connection of a run: its requests in flight, its unsent bytes, and the answer that is arriving.
final class LoadConnection {
    let socket: LoadSocket
    @exclusivity(unchecked) private(set) var inFlight: InFlightRing
    @exclusivity(unchecked) private var reader: AnswerReader
    @exclusivity(unchecked) private var unsent = Unsent()
    /// The fetch of what was just published, in a run of pairs.
    @exclusivity(unchecked) private var fetchOfPair: PlannedRequest?
    /// Whether requests may be sent: the opening, if there is one, was answered.
    private(set) var isOpen: Bool
    /// Whether the event set waits for room to send on this connection.
    var isPolledForRoom = false

    /// The largest body that is copied after its head, so that several are sent in one call. Larger ones are sent from
    /// the pool.
    static let copiedBodyByteCountMax = 16 << 10
    static let requestRoom =
        LoadLimits.requestByteCountMax + copiedBodyByteCountMax
        + LoadLimits.publishTrailerByteCountMax
    static let sendByteCount = 64 << 10

    /// Creates a connection without requests in flight. The opening, if there is one, is sent with the first
    /// ``send(limit:now:_:_:through:)``.
    init(_ socket: consuming LoadSocket, depth: Int, check: LoadCheck, opening: [UInt8]) {
        self.socket = socket
        inFlight = InFlightRing(capacity: depth)
        reader = AnswerReader(check: check)
        isOpen = opening.isEmpty
        unsent.bytes = opening
    }

    var awaitsRoom: Bool { !unsent.isEmpty }

    var hasRoom: Bool { isOpen && unsent.isEmpty && !inFlight.isFull }

    /// Receives once. What the last input left over is put before it.
    ///
    /// - Returns: the bytes of `buffer` to pass to ``take(_:_:now:_:_:)``; empty if nothing was received.
    func receive(
        into buffer: inout [UInt8], waiting: Bool
    ) throws(LoadFailure) -> Range<Int> {
        let headroom = LoadLimits.answerHeadByteCountMax
        let count = try socket.receive(into: &buffer, from: headroom, waiting: waiting)
        guard count > 0 else { return 0..<0 }
        let start = headroom - reader.carry.count
        for (index, byte) in reader.carry.enumerated() { buffer[start + index] = byte }
        return start..<headroom + count
    }

    /// Consumes bytes received at `now`. Every complete answer is counted.
    func take(
        _ buffer: [UInt8], _ range: Range<Int>, now: Int64, _ workload: borrowing Workload,
        _ record: inout LoadRecord
    ) throws(LoadFailure) {
        let input = buffer.span.bytes.extracting(range)
        var offset = 0
        while offset < input.byteCount {
            guard isOpen else {
                guard try reader.take(input, from: &offset, to: .opening, of: workload) else {
                    return
                }
                isOpen = true
                continue
            }
            guard inFlight.count > 0 else {
                throw LoadFailure(.server, "an answer without a request")
            }
            let request = inFlight.first
            guard try reader.take(input, from: &offset, to: request, of: workload) else {
                return
            }
            inFlight.removeFirst()
            record.add(
                request.kind, nanoseconds: now - request.intendedAt,
                byteCount: workload.slice(request.index).byteCount)
            if workload.isPairs && request.kind == .publish {
                fetchOfPair = PlannedRequest(
                    kind: .fetch, index: request.index, intendedAt: now, stamp: request.stamp)
            }
        }
    }

    /// Sends unsent bytes, then up to `limit` new requests, as far as the depth, the plan and the socket allow, in as
    /// few calls as there are large bodies and full buffers.
    func send(
        limit: Int, now: Int64, _ workload: borrowing Workload, _ plan: inout RequestPlan,
        through buffer: inout [UInt8]
    ) throws(LoadFailure) {
        var limit = limit
        while true {
            if !unsent.isEmpty {
                guard try sendUnsent(workload) else { return }
            }
            guard isOpen else { return }
            compose(&limit, now: now, workload, &plan, into: &buffer)
            let total = buffer.count + unsent.byteCountBehind(workload)
            guard total > 0 else { return }
            let sent = try socket.send(
                buffer.span.bytes, body: unsent.body(workload),
                trailer: unsent.trailer(workload))
            if sent < buffer.count {
                unsent.keep(buffer.span.bytes.extracting(sent..<buffer.count))
            } else {
                unsent.skipBody(sent - buffer.count, workload)
            }
            buffer.removeAll(keepingCapacity: true)
            if sent < total { return }
        }
    }

    private func sendUnsent(_ workload: borrowing Workload) throws(LoadFailure) -> Bool {
        while !unsent.isEmpty {
            let bytes = unsent.bytes
            let sent = try socket.send(
                bytes.span.bytes, body: unsent.body(workload), trailer: unsent.trailer(workload))
            guard sent > 0 else { return false }
            unsent.skip(sent, workload)
        }
        return true
    }

    /// Composes requests until the limit, the depth, the plan or the buffer is exhausted, or one has a body that is not
    /// copied.
    private func compose(
        _ limit: inout Int, now: Int64, _ workload: borrowing Workload, _ plan: inout RequestPlan,
        into buffer: inout [UInt8]
    ) {
        while limit > 0, !inFlight.isFull,
            buffer.count <= Self.sendByteCount - Self.requestRoom,
            let request = fetchOfPair ?? plan.next(now: now)
        {
            limit -= 1
            inFlight.append(request)
            fetchOfPair = nil
            let start = buffer.count
            buffer.append(
                contentsOf: request.kind == .publish
                    ? workload.publishHead(request.index) : workload.fetch(request.index))
            if workload.hasNewIDs { NewID.write(request.stamp, to: &buffer, from: start) }
            guard request.kind == .publish else { continue }
            let slice = workload.slice(request.index)
            let stampByteCount = workload.stampByteCount(of: slice)
            withUnsafeBytes(of: request.stamp) {
                buffer.append(contentsOf: $0.prefix(stampByteCount))
            }
            let bodyStart = slice.start + stampByteCount
            let count = slice.byteCount - stampByteCount
            guard count <= Self.copiedBodyByteCountMax else {
                unsent.bodyStart = bodyStart
                unsent.bodyLeft = count
                return
            }
            buffer.append(contentsOf: workload.pool.extracting(bodyStart..<bodyStart + count))
            buffer.append(contentsOf: workload.trailer)
        }
    }
}

/// The unsent bytes of a connection: bytes, then the rest of a body in the pool, then the dialect's trailer.
private struct Unsent: ~Copyable {
    var bytes: [UInt8] = []
    var bodyStart = 0
    var bodyLeft = 0

    var isEmpty: Bool { bodyLeft == 0 && bytes.isEmpty }

    @_lifetime(borrow workload)
    borrowing func body(_ workload: borrowing Workload) -> RawSpan {
        workload.pool.extracting(bodyStart..<bodyStart + bodyLeft)
    }

    @_lifetime(borrow workload)
    borrowing func trailer(_ workload: borrowing Workload) -> RawSpan {
        workload.trailer.extracting(first: bodyLeft > 0 ? workload.trailer.byteCount : 0)
    }

    borrowing func byteCountBehind(_ workload: borrowing Workload) -> Int {
        bodyLeft > 0 ? bodyLeft + workload.trailer.byteCount : 0
    }

    mutating func keep(_ rest: RawSpan) { bytes.append(contentsOf: rest) }

    mutating func skip(_ count: Int, _ workload: borrowing Workload) {
        let first = min(count, bytes.count)
        bytes.removeFirst(first)
        skipBody(count - first, workload)
    }

    /// If a trailer was cut, its rest is kept.
    mutating func skipBody(_ count: Int, _ workload: borrowing Workload) {
        guard bodyLeft > 0 else { return }
        let ofBody = min(count, bodyLeft)
        bodyStart += ofBody
        bodyLeft -= ofBody
        if bodyLeft == 0 {
            keep(workload.trailer.extracting(droppingFirst: count - ofBody))
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(contentsOf span: RawSpan) {
        span.withUnsafeBytes { append(contentsOf: $0) }
    }
}
