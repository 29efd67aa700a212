import BlobClient
import TestSupport

/// As much of an HTTP/1.1 client as the scenarios need: one upload on a connection of its own.
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

    /// A document, with its head, on a connection of its own.
    static func get(_ path: String, from socketPath: String) throws -> String {
        let socket = try RawSocket.connect(to: socketPath)
        var answer: [UInt8] = []
        let request = "GET \(path) HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n"
        _ = try socket.sendAll(Array(request.utf8), answers: &answer)
        _ = try socket.receive(into: &answer, milliseconds: 60_000) { _ in false }
        return String(decoding: answer, as: UTF8.self)
    }

    /// The status, as soon as the whole head is there.
    static func statusLine(of answer: [UInt8]) -> Int? {
        let head = String(decoding: answer.prefix(16_384), as: UTF8.self)
        guard head.hasPrefix("HTTP/1.1 "), head.contains("\r\n\r\n") else { return nil }
        return Int(head.dropFirst(9).prefix(3))
    }
}
