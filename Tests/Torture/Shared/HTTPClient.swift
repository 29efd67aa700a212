import BlobClient
import Bytes
import TestSupport

/// The head of an answer.
struct HTTPHead {
    let status: Int
    /// By lower-case names.
    let fields: [String: Substring]
    /// With the empty line at its end.
    let byteCount: Int

    /// As long as a daemon's head ever is.
    static let byteCountMax = 16_384

    /// Reads the head at the start of `bytes`; nil when its end has not come, or it is none.
    init?(_ bytes: RawSpan) {
        let limit = min(bytes.byteCount, Self.byteCountMax)
        var end = 0
        while end + 4 <= limit, bytes.integer(end, as: UInt32.self) != 0x0A0D_0A0D { end += 1 }
        guard end + 4 <= limit else { return nil }
        var lines = bytes.extracting(first: end).text().split(separator: "\r\n")
        guard let first = lines.first, first.hasPrefix("HTTP/1.1 "),
            let status = Int(first.dropFirst(9).prefix(3))
        else { return nil }
        lines.removeFirst()
        var fields: [String: Substring] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[line[..<colon].lowercased()] = line[line.index(after: colon)...]
                .drop { $0 == " " }
        }
        (self.status, self.fields, byteCount) = (status, fields, end + 4)
    }

    /// The bytes of the body, as the head says.
    var length: Int? { fields["content-length"].flatMap { Int($0) } }
}

/// As much of an HTTP/1.1 client as the scenarios need.
enum HTTPClient {
    /// How the end of a body is told.
    enum Framing: Sendable { case contentLength, chunked }

    /// An answer's status and its bytes.
    struct Response: Sendable {
        let status: Int
        let text: String
    }

    /// Stores a payload with PUT. A daemon that answers before it has everything is heard.
    static func put(
        _ payload: Payload, id: String, framing: Framing, to socketPath: String
    ) throws -> Response {
        let socket = try RawSocket.connect(to: socketPath)
        let length =
            framing == .contentLength
            ? "Content-Length: \(payload.byteCount)" : "Transfer-Encoding: chunked"
        let head =
            "PUT /v1/notifications/\(id)/payload?ttl=3600 HTTP/1.1\r\nHost: b\r\n"
            + "Content-Type: \(payload.mediaType)\r\n\(length)\r\n\r\n"
        var answer: [UInt8] = []
        var isOpen = try socket.sendAll(Array(head.utf8), answers: &answer)
        try payload.forEachPiece { piece in
            guard isOpen, answer.isEmpty else { return }
            switch framing {
            case .contentLength:
                isOpen = try socket.sendAll(piece, answers: &answer, milliseconds: 120_000)
            case .chunked:
                let size = Array((String(piece.count, radix: 16) + "\r\n").utf8)
                isOpen = try socket.sendAll(
                    size + piece + Array("\r\n".utf8), answers: &answer, milliseconds: 120_000)
            }
        }
        if isOpen, answer.isEmpty, framing == .chunked {
            isOpen = try socket.sendAll(Array("0\r\n\r\n".utf8), answers: &answer)
        }
        _ = try socket.receive(into: &answer, milliseconds: 300_000) { statusLine(of: $0) != nil }
        guard let line = statusLine(of: answer) else {
            throw TestFailure("the upload of \(id) got no answer")
        }
        return Response(status: line, text: String(decoding: answer, as: UTF8.self))
    }

    /// Asks for a resource, and reads nothing of the answer.
    static func ask(_ path: String, at socketPath: String) throws -> RawSocket {
        let socket = try RawSocket.connect(to: socketPath)
        _ = socket.send(Array("GET \(path) HTTP/1.1\r\nHost: b\r\n\r\n".utf8), from: 0)
        return socket
    }

    /// The bytes of a request.
    static func request(
        _ method: String, _ target: String, _ fields: [String] = [], _ body: [UInt8]? = nil
    ) -> [UInt8] {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: b\r\n"
        for field in fields { head += "\(field)\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        return Array("\(head)\r\n".utf8) + (body ?? [])
    }

    /// A request on a connection of its own, and its whole answer. Throws when there is none, and when it is cut
    /// short, since the daemon has ended or found damage in it.
    static func call(
        _ method: String, _ target: String, type: String = "", _ body: [UInt8] = [], at path: String
    ) throws -> (status: Int, body: [UInt8]) {
        let socket = try RawSocket.connect(to: path, withinMilliseconds: 1_000)
        let fields = (type.isEmpty ? [] : ["Content-Type: \(type)"]) + ["Connection: close"]
        let sendsBody = method != "GET" && method != "DELETE"
        var answer: [UInt8] = []
        if try socket.sendAll(
            request(method, target, fields, sendsBody ? body : nil), answers: &answer)
        {
            _ = try socket.receive(into: &answer) { _ in false }
        }
        guard let head = HTTPHead(answer.span.bytes) else {
            throw TestFailure("no answer, or half a head")
        }
        let content = Array(answer[head.byteCount...])
        try require(
            head.length ?? content.count == content.count,
            "an answer of \(content.count) bytes instead of \(head.length ?? 0)")
        return (head.status, content)
    }

    /// The numbers of `/metrics`, by their names with their labels.
    static func metrics(of socketPath: String) throws -> [String: Int] {
        let text = String(
            decoding: try call("GET", "/metrics", at: socketPath).body, as: UTF8.self)
        var numbers: [String: Int] = [:]
        for line in text.split(separator: "\n") {
            guard let space = line.lastIndex(of: " "),
                let number = Int(line[line.index(after: space)...])
            else { continue }
            numbers[String(line[..<space])] = number
        }
        return numbers
    }

    /// The status, as soon as the whole head is there.
    static func statusLine(of answer: [UInt8]) -> Int? { HTTPHead(answer.span.bytes)?.status }
}
