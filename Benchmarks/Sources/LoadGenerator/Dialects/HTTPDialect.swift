/// HTTP/1.1 on persistent connections. The paths are `blobd`'s by default; any server that answers a GET with a
/// `Content-Length` works.
public struct HTTPDialect: LoadDialect {
    /// The path and query of the payload with an id.
    public typealias Path = @Sendable (_ id: String) -> String

    /// `http`, or the given name.
    public let name: String
    private let fetchPath: Path
    private let publishPath: Path

    /// The default lifetime of the payloads of a run, in seconds.
    public static let ttlSecondsUsual: Int64 = 7_200

    /// Creates the dialect. A publish is a PUT.
    public init(
        name: String = "http",
        fetchPath: @escaping Path = { "/v1/notifications/\($0)/payload" },
        publishPath: @escaping Path = { "/v1/notifications/\($0)/payload?ttl=7200" }
    ) {
        self.name = name
        self.fetchPath = fetchPath
        self.publishPath = publishPath
    }

    /// A GET. See ``LoadDialect/appendFetch(of:to:)``.
    public func appendFetch(of item: LoadItem, to bytes: inout [UInt8]) {
        bytes += "GET \(fetchPath(item.id)) HTTP/1.1\r\nHost: b\r\n\r\n".utf8
    }

    /// A PUT with a `Content-Length`, and the owner in the query. See ``LoadDialect/appendPublish(of:to:)``.
    public func appendPublish(of item: LoadItem, to bytes: inout [UInt8]) {
        var path = publishPath(item.id)
        if let owner = item.owner { path += "\(path.contains("?") ? "&" : "?")owner=\(owner)" }
        bytes += "PUT \(path) HTTP/1.1\r\nHost: b\r\n".utf8
        bytes += "Content-Length: \(item.byteCount)\r\n\r\n".utf8
    }

    /// The event stream of `blobd`, once. See ``LoadDialect/appendWatch(of:after:to:)``.
    public func appendWatch(of owner: String, after answer: RawSpan?, to bytes: inout [UInt8]) {
        guard answer == nil else { return }
        bytes += "GET /v1/users/\(owner)/changes HTTP/1.1\r\nHost: b\r\n".utf8
        bytes += "Accept: text/event-stream\r\n\r\n".utf8
    }

    /// Reads a status line and field lines (RFC 9112, sections 4 and 5). An answer without
    /// `Content-Length`, such as a chunked one, is a failure.
    public func answerHead(
        in bytes: RawSpan, to kind: RequestKind
    ) throws(LoadFailure) -> AnswerHead? {
        guard bytes.byteCount >= 12 else {
            guard bytes.byteCount == 0 || bytes.has("H") else {
                throw LoadFailure(.server, "an answer does not begin with a status line")
            }
            return nil
        }
        var length = -1
        if !bytes.has("HTTP/1.1 200") {
            length = try Self.lengthByStatus(bytes, to: kind)
        }
        guard var line = bytes.lineFeed(from: 12) else { return nil }
        while true {
            let start = line + 1
            guard start < bytes.byteCount else { return nil }
            switch bytes.unsafeLoad(fromByteOffset: start, as: UInt8.self) {
            case 0x0D where bytes.has("\r\n", at: start):
                return try Self.head(byteCount: start + 2, length: length)
            case 0x0A:
                return try Self.head(byteCount: start + 1, length: length)
            default:
                guard let end = bytes.lineFeed(from: start) else { return nil }
                if bytes.isContentLength(start..<end) {
                    length = try Self.length(bytes, from: start + 15)
                }
                line = end
            }
        }
    }

    /// - Returns: the length of the body if the status determines it, which is 0 for 204; otherwise -1.
    private static func lengthByStatus(
        _ bytes: RawSpan, to kind: RequestKind
    ) throws(LoadFailure) -> Int {
        guard bytes.has("HTTP/1."), let status = bytes.decimal(at: 9) else {
            throw LoadFailure(
                .server, "an answer begins with \"\(bytes.excerpt())\" and not a status line")
        }
        guard status.value == 200 || (kind == .publish && (201...204).contains(status.value))
        else {
            throw LoadFailure(.server, "the server answered \(bytes.excerpt(from: 9))")
        }
        return status.value == 204 ? 0 : -1
    }

    private static func head(byteCount: Int, length: Int) throws(LoadFailure) -> AnswerHead {
        guard length >= 0 else {
            throw LoadFailure(.server, "an answer has no Content-Length")
        }
        return AnswerHead(headByteCount: byteCount, bodyByteCount: length)
    }

    private static func length(_ bytes: RawSpan, from offset: Int) throws(LoadFailure) -> Int {
        // Usually one space, but any number of spaces and tabs is allowed.
        var offset = offset
        while bytes.has(" ", at: offset) || bytes.has("\t", at: offset) { offset += 1 }
        guard let length = bytes.decimal(at: offset) else {
            throw LoadFailure(
                .server, "an answer's Content-Length is \"\(bytes.excerpt(from: offset))\"")
        }
        return length.value
    }
}

extension RawSpan {
    /// Whether a field line, which is within the span, begins with the name `Content-Length`, in any case.
    fileprivate func isContentLength(_ line: Range<Int>) -> Bool {
        let name: StaticString = "content-length:"
        guard line.count >= name.utf8CodeUnitCount else { return false }
        return name.withUTF8Buffer { name in
            for index in 0..<name.count {
                let byte = unsafeLoad(fromByteOffset: line.lowerBound + index, as: UInt8.self)
                // The bit that distinguishes case, which - and : have, too.
                if byte | 0x20 != name[index] { return false }
            }
            return true
        }
    }
}
