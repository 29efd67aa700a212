import BlobClient
import BlobProtocol
import TestSupport

/// Bodies of which only a part comes, and batches that come slowly.
struct BodiesCrowd: CrowdKind {
    static let name = "bodies"
    static let line =
        "Half-open bodies of every shape, and slow batches: do others still publish?"
    static let details = """
        Connections announce bodies, short and long, in chunks, in parts, in frames, and send only
        some of them; one in ten feeds a batch of 8 MiB with 4 KiB at a time. Meanwhile others publish
        ten bytes each on connections of their own: each is stored, or refused with 503, within a
        second, and 99 % within 100 ms.
        """
    static let sizes = (usual: CrowdSize(clients: 2_000), short: CrowdSize(clients: 600))
    static func byteCountMax(_ size: CrowdSize, isShort: Bool) -> (beside: Int?, after: Int?) {
        // What bodies may have, as much for input that waits, and a margin.
        ((64 + 64 + 32) << 20, 16 << 20)
    }

    let daemon: CrowdedDaemon
    private var sockets: [RawSocket] = []

    init(_ daemon: CrowdedDaemon) { self.daemon = daemon }

    mutating func prepare() throws {
        // What the first publishes need is not what is looked for.
        for number in 0..<20 { _ = try publish(number) }
    }

    mutating func come() throws {
        var generator = SeededGenerator(seed: daemon.seed)
        sockets = try (0..<daemon.size.clients).map { number in
            let socket = try RawSocket.connect(to: daemon.socket)
            press(socket, try Self.half(number, &generator))
            return socket
        }
    }

    /// Sends what is taken at once: the daemon does not read a body that waits.
    private func press(_ socket: RawSocket, _ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count, case .moved(let moved) = socket.send(bytes, from: sent) {
            sent += moved
        }
    }

    mutating func stay() throws -> [String] {
        try Clock.wait(milliseconds: 10_000, orThrow: "not all of the crowd are connected") {
            try daemon.number("connections") > sockets.count
        }
        var times: [Int] = []
        var refused = 0
        let piece = [UInt8](repeating: 0x20, count: 4_096)
        for number in 0..<daemon.size.clients / 2 {
            if number % 10 == 0 {
                for index in stride(from: 5, to: sockets.count, by: 10) {
                    press(sockets[index], piece)
                }
            }
            let (status, nanoseconds) = try publish(number)
            switch status {
            case 200, 201: times.append(nanoseconds / 1_000)
            case 503: refused += 1
            default: throw TestFailure("publish \(number) was answered \(status)")
            }
            try require(
                daemon.isShort || nanoseconds <= 1_000_000_000,
                "publish \(number) was answered \(nanoseconds / 1_000_000) ms later")
        }
        try require(times.count > refused, "\(refused) publishes were refused, \(times.count) not")
        let p99 = percentile(99, of: times)
        try require(
            daemon.isShort || p99 <= 100_000, "the 99th percentile of publishes is \(p99) µs")
        // Long ones and documents as well.
        var connection = try daemon.connect()
        try connection.put(
            PutRequest(id: "long"), [UInt8](repeating: 7, count: 300_000).span.bytes)
        _ = try connection.call(.publish(NotificationUpload(id: "text", message: "m")))
        return [
            "\(times.count) publishes stored (median \(percentile(50, of: times)) µs, 99 % \(p99) µs), \(refused) refused"
        ]
    }

    mutating func leave() -> [String] {
        sockets = []
        return []
    }

    /// Publishes ten bytes on a connection of its own, every other time in two steps, as many clients send.
    private func publish(_ number: Int) throws -> (status: Int, nanoseconds: Int) {
        let request = HTTPClient.request(
            "PUT", "/v1/notifications/small-\(number)/payload", ["Content-Type: image/png"],
            Array("0123456789".utf8))
        let begin = Clock.nanoseconds()
        let socket = try RawSocket.connect(to: daemon.socket)
        let first = number.isMultiple(of: 2) ? 0 : request.count - 10
        var received: [UInt8] = []
        _ = try socket.sendAll(Array(request.prefix(first)), answers: &received)
        let answer = try socket.ask(Array(request.dropFirst(first)), milliseconds: 10_000)
        return (answer.status, Clock.nanoseconds() - begin)
    }

    /// A request whose body does not come whole.
    private static func half(
        _ number: Int, _ generator: inout SeededGenerator
    ) throws -> [UInt8] {
        let sent = [1, 9, 3_000, 60_000, 100_000, 180_000].randomElement(using: &generator) ?? 1
        let body = [UInt8](repeating: 0x20, count: sent)
        func put(_ field: String) -> [UInt8] {
            HTTPClient.request("PUT", "/v1/notifications/h/payload", [field])
        }
        func post(_ target: String, _ type: String, _ length: Int) -> [UInt8] {
            HTTPClient.request(
                "POST", "/v1/\(target)", ["Content-Type: \(type)", "Content-Length: \(length)"])
        }
        switch number % 10 {
        case 0: return put("Content-Length: 10") + [0x31]
        case 1, 6: return put("Content-Length: \(sent + 1)") + body
        case 2, 7: return put("Content-Length: 60000000") + body
        case 3: return put("Transfer-Encoding: chunked") + Array("FFFFFF\r\n".utf8) + body
        case 4, 8:
            return post("notifications", "multipart/form-data; boundary=x", 60_000_000)
                + Array("--x\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n".utf8) + body
        case 5:
            return post("notifications:batch", "application/x-ndjson", 8 << 20) + body.prefix(9)
        default:
            var frames = helloFrame
            let draft = Put.Draft(id: "h")
            try RequestFrame.compose(
                .put, flags: draft.flags, requestID: 2, bodyByteCount: UInt64(sent + 1),
                into: &frames
            ) { (out) throws(ProtocolError) in try draft.compose(into: &out) }
            return frames + body
        }
    }
}
