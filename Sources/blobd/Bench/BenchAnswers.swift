import BlobProtocol

/// Reads the answers of one connection: heads into a small buffer, bodies compared with what they
/// should be while they come.
struct BenchAnswers: ~Copyable {
    private let dialect: BenchDialect
    private var head: [UInt8] = []
    private var bodyLeft = 0
    private var bodyOffset = 0

    /// What came.
    enum Event {
        /// More bytes are needed.
        case wait
        /// An answer ended; its status.
        case answer(Int)
    }

    private var status = 0

    init(_ dialect: BenchDialect) {
        self.dialect = dialect
        head.reserveCapacity(1_024)
    }

    /// Takes bytes from `input`, from `offset` on, up to the end of one answer.
    ///
    /// - Parameter expected: which of `payloads` the body should be; nil when any will do.
    mutating func take(
        _ input: RawSpan, from offset: inout Int, expecting expected: Int?,
        of payloads: BenchPayloads
    ) throws(BenchFailure) -> Event {
        if bodyLeft == 0 {
            guard try takeHead(input, from: &offset) else { return .wait }
            if expected != nil, status == 200, bodyLeft != payloads.byteCount {
                throw BenchFailure("a body has \(bodyLeft) bytes instead of \(payloads.byteCount)")
            }
        }
        let count = min(bodyLeft, input.byteCount - offset)
        if count > 0 {
            if let expected, status == 200 {
                let right = payloads.bytes(expected).extracting(bodyOffset..<bodyOffset + count)
                guard input.extracting(offset..<offset + count).hasSameBytes(as: right) else {
                    throw BenchFailure("a wrong byte came; no figure is given")
                }
            }
            offset += count
            bodyLeft -= count
            bodyOffset += count
        }
        guard bodyLeft == 0 else { return .wait }
        return .answer(status)
    }

    /// Collects a head; true when it is whole.
    private mutating func takeHead(
        _ input: RawSpan, from offset: inout Int
    ) throws(BenchFailure) -> Bool {
        while offset < input.byteCount {
            let available = input.byteCount - offset
            let wanted: Int
            switch dialect {
            case .binary:
                let known = try frameByteCount()
                wanted = min(known - head.count, available)
            case .http:
                wanted = 1
            }
            for index in 0..<wanted {
                head.append(input.unsafeLoad(fromByteOffset: offset + index, as: UInt8.self))
            }
            offset += wanted
            if try isWhole() {
                bodyOffset = 0
                head.removeAll(keepingCapacity: true)
                return true
            }
        }
        return false
    }

    /// The size of header and head together, as far as it is known.
    private func frameByteCount() throws(BenchFailure) -> Int {
        guard head.count >= Wire.frameHeaderByteCount else { return Wire.frameHeaderByteCount }
        return Wire.frameHeaderByteCount + Int(try frame().headByteCount)
    }

    private func frame() throws(BenchFailure) -> ResponseFrame {
        let frame: ResponseFrame?
        do throws(FrameError) {
            frame = try ResponseFrame.parse(head.span.bytes)
        } catch {
            throw BenchFailure(error.problem.detail)
        }
        guard let frame else { throw BenchFailure("a frame ends too early") }
        return frame
    }

    private mutating func isWhole() throws(BenchFailure) -> Bool {
        switch dialect {
        case .binary:
            guard head.count >= Wire.frameHeaderByteCount,
                head.count == (try frameByteCount())
            else { return false }
            let frame = try frame()
            status = Int(frame.status)
            bodyLeft = Int(frame.bodyByteCount)
            return true
        case .http:
            guard head.count >= 4, head[head.count - 1] == 0x0A,
                head[head.count - 3] == 0x0A
            else { return false }
            try readHTTPHead()
            return true
        }
    }

    private mutating func readHTTPHead() throws(BenchFailure) {
        let text = String(decoding: head, as: UTF8.self)
        let lines = text.split(separator: "\r\n")
        guard let first = lines.first, let code = Int(first.dropFirst(9).prefix(3)) else {
            throw BenchFailure("an answer does not begin with a status line")
        }
        status = code
        bodyLeft = 0
        for line in lines.dropFirst() where line.lowercased().hasPrefix("content-length:") {
            bodyLeft = Int(line.dropFirst(15).filter { $0 != " " }) ?? 0
        }
    }
}

/// Why a run has no figure.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
