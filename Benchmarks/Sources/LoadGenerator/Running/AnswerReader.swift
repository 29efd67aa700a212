internal import Glibc

/// Reads the answers of one connection, and compares the bodies of fetches with the payloads as they arrive.
struct AnswerReader: ~Copyable {
    private var bodyLeft = 0
    private var trailerLeft = 0
    private var bodyOffset = 0
    private var isInAnswer = false
    private var comparesAll = true
    private var fetchCount = 0
    private var slice = PayloadSlice(start: 0, byteCount: 0)
    /// The beginning of an incomplete head; usually empty.
    private(set) var carry: [UInt8] = []

    private let check: LoadCheck

    init(check: LoadCheck) { self.check = check }

    /// Consumes bytes of `input` from `offset` on, up to the end of the answer to `request`.
    ///
    /// - Returns: false if the answer is incomplete. All of `input` is then consumed, and ``carry`` must be put before
    ///   the next input.
    mutating func take(
        _ input: RawSpan, from offset: inout Int, to request: PlannedRequest,
        of workload: borrowing Workload
    ) throws(LoadFailure) -> Bool {
        if !isInAnswer {
            guard try takeHead(input, from: &offset, to: request, of: workload) else {
                return false
            }
        }
        if bodyLeft > 0 {
            let count = min(bodyLeft, input.byteCount - offset)
            if request.kind == .fetch {
                let piece = input.extracting(offset..<offset + count)
                let stamped = try compareStamp(piece, of: request, workload)
                try compare(
                    piece.extracting(droppingFirst: stamped), at: bodyOffset + stamped,
                    with: request.index, of: workload)
            }
            offset += count
            bodyOffset += count
            bodyLeft -= count
        }
        if trailerLeft > 0 && bodyLeft == 0 {
            let count = min(trailerLeft, input.byteCount - offset)
            offset += count
            trailerLeft -= count
        }
        guard bodyLeft == 0 && trailerLeft == 0 else { return false }
        isInAnswer = false
        return true
    }

    private mutating func takeHead(
        _ input: RawSpan, from offset: inout Int, to request: PlannedRequest,
        of workload: borrowing Workload
    ) throws(LoadFailure) -> Bool {
        if !carry.isEmpty { carry.removeAll(keepingCapacity: true) }
        let rest = input.extracting(offset..<input.byteCount)
        guard rest.byteCount > 0 else { return false }
        guard let head = try workload.dialect.answerHead(in: rest, to: request.kind) else {
            guard rest.byteCount < LoadLimits.answerHeadByteCountMax else {
                throw LoadFailure(
                    .server,
                    "the head of an answer is longer than \(LoadLimits.answerHeadByteCountMax) bytes"
                )
            }
            rest.withUnsafeBytes { carry.append(contentsOf: $0) }
            offset = input.byteCount
            return false
        }
        guard head.headByteCount >= 0, head.headByteCount <= rest.byteCount,
            head.bodyByteCount >= 0, head.trailerByteCount >= 0
        else {
            throw LoadFailure(.server, "the dialect \(workload.dialect.name) read \(head)")
        }
        if request.kind == .fetch {
            slice = workload.slice(request.index)
            guard head.bodyByteCount == slice.byteCount else {
                let id = workload.payloads.item(request.index).id
                throw LoadFailure(
                    .wrongBytes,
                    "\(id) has \(head.bodyByteCount) bytes; expected \(slice.byteCount)")
            }
            comparesAll = check == .all || fetchCount % LoadCheck.sampleInterval == 0
            fetchCount &+= 1
        }
        offset += head.headByteCount
        bodyLeft = head.bodyByteCount
        trailerLeft = head.trailerByteCount
        bodyOffset = 0
        isInAnswer = true
        return true
    }

    /// Compares the bytes that a publish of this run put before those of the pool. Returns their number.
    private func compareStamp(
        _ piece: RawSpan, of request: PlannedRequest, _ workload: borrowing Workload
    ) throws(LoadFailure) -> Int {
        let end = request.stamp == 0 ? 0 : workload.stampByteCount(of: slice)
        let count = min(max(0, end - bodyOffset), piece.byteCount)
        for index in 0..<count {
            let wanted = UInt8(truncatingIfNeeded: request.stamp >> (8 * (bodyOffset + index)))
            guard piece.unsafeLoad(fromByteOffset: index, as: UInt8.self) == wanted else {
                throw LoadFailure(
                    .wrongBytes,
                    "byte \(bodyOffset + index) of a fetch is not the one that was published just "
                        + "before; no figures")
            }
        }
        return count
    }

    private func compare(
        _ piece: RawSpan, at offset: Int, with index: Int, of workload: borrowing Workload
    ) throws(LoadFailure) {
        let start = slice.start + offset
        let right = workload.pool.extracting(start..<start + piece.byteCount)
        if comparesAll {
            guard piece.hasSameBytes(as: right) else {
                throw wrongByte(piece, right, 0, at: offset, index, workload)
            }
            return
        }
        let edge = LoadCheck.sampledEdgeByteCount
        let pieceEnd = offset + piece.byteCount
        let headCount = min(edge, pieceEnd) - offset
        if headCount > 0 {
            guard
                piece.extracting(first: headCount).hasSameBytes(
                    as: right.extracting(first: headCount))
            else { throw wrongByte(piece, right, 0, at: offset, index, workload) }
        }
        let tailCount = min(pieceEnd - (slice.byteCount - edge), piece.byteCount)
        if tailCount > 0 {
            guard
                piece.extracting(last: tailCount).hasSameBytes(
                    as: right.extracting(last: tailCount))
            else {
                throw wrongByte(
                    piece, right, piece.byteCount - tailCount, at: offset, index, workload)
            }
        }
    }

    private func wrongByte(
        _ piece: RawSpan, _ right: RawSpan, _ start: Int, at offset: Int, _ index: Int,
        _ workload: borrowing Workload
    ) -> LoadFailure {
        var at = start
        while at < piece.byteCount - 1,
            piece.unsafeLoad(fromByteOffset: at, as: UInt8.self)
                == right.unsafeLoad(fromByteOffset: at, as: UInt8.self)
        { at += 1 }
        let item = workload.payloads.item(index)
        let came = piece.unsafeLoad(fromByteOffset: at, as: UInt8.self)
        let wanted = right.unsafeLoad(fromByteOffset: at, as: UInt8.self)
        return LoadFailure(
            .wrongBytes,
            "\(item.id): byte \(offset + at) of \(item.byteCount) is \(came); expected "
                + "\(wanted); no figures")
    }
}

extension RawSpan {
    fileprivate func hasSameBytes(as other: RawSpan) -> Bool {
        // Both spans keep their memory alive during the call.
        withUnsafeBytes { left in
            other.withUnsafeBytes { right in
                guard left.count == right.count, let first = left.baseAddress,
                    let second = right.baseAddress
                else { return left.count == right.count }
                return memcmp(first, second, left.count) == 0
            }
        }
    }
}
