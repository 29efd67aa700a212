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
            let rest = input.extracting(offset..<input.byteCount)
            let wanted: Int
            switch dialect {
            case .binary: wanted = min(try frameByteCount() - head.count, rest.byteCount)
            case .http: wanted = rest.byteCountUpToLineEnd
            }
            rest.extracting(first: wanted).withUnsafeBytes { head.append(contentsOf: $0) }
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
            (status, bodyLeft) = try Self.readHTTPHead(head.span.bytes)
            return true
        }
    }

    /// Reads the status and the length, byte by byte: the load must cost less than what is measured.
    private static func readHTTPHead(
        _ bytes: RawSpan
    ) throws(BenchFailure) -> (status: Int, bodyByteCount: Int) {
        guard bytes.byteCount >= 12, let code = bytes.decimal(at: 9), code >= 100 else {
            throw BenchFailure("an answer does not begin with a status line")
        }
        var line = 0
        while line < bytes.byteCount {
            let rest = bytes.extracting(line..<bytes.byteCount)
            if rest.begins(with: "content-length: ") {
                guard let length = rest.decimal(at: 16) else {
                    throw BenchFailure("an answer's Content-Length is not a number")
                }
                return (code, length)
            }
            line += rest.byteCountUpToLineEnd
        }
        return (code, 0)
    }
}

extension RawSpan {
    /// Bytes up to and with the first line feed; all of them when there is none.
    fileprivate var byteCountUpToLineEnd: Int {
        for index in 0..<byteCount
        where unsafeLoad(fromByteOffset: index, as: UInt8.self) == 0x0A {
            return index + 1
        }
        return byteCount
    }

    /// Whether it begins with `name`, which is in lower case, in any case.
    fileprivate func begins(with name: StaticString) -> Bool {
        guard byteCount >= name.utf8CodeUnitCount else { return false }
        return name.withUTF8Buffer { name in
            for (index, wanted) in name.enumerated() {
                let byte = unsafeLoad(fromByteOffset: index, as: UInt8.self)
                let lower = byte >= 0x41 && byte <= 0x5A ? byte + 32 : byte
                guard lower == wanted else { return false }
            }
            return true
        }
    }

    /// The decimal number at `offset`, up to the first byte that is not a digit; nil without any.
    fileprivate func decimal(at offset: Int) -> Int? {
        var value = 0
        var index = offset
        while index < byteCount, index - offset < 18 {
            let digit = Int(unsafeLoad(fromByteOffset: index, as: UInt8.self)) - 0x30
            guard digit >= 0 && digit <= 9 else { break }
            value = value * 10 + digit
            index += 1
        }
        return index > offset ? value : nil
    }
}

/// Why a run has no figure.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
