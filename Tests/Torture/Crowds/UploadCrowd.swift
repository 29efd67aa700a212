import BlobClient
import BlobProtocol
import Synchronization
import TestSupport

/// Clients that upload large payloads at the same time, and twenty times as many whose bodies never come whole.
struct UploadCrowd: CrowdKind {
    static let name = "upload"
    static let line =
        "100 clients upload 50 MB each, next to 2,000 half-open bodies: is memory bounded?"
    static let details = """
        Most connections announce bodies, short and long, in chunks, in parts, in frames, and send only some of them;
        one in ten feeds a batch of 8 MiB with 4 KiB at a time. The clients upload: a third in the binary protocol, a
        third in HTTP with Content-Length, a third in chunks; every fourth uploads what others upload too. The
        daemon's own memory may grow by 64 MiB for bodies on their way, 64 MiB for a transaction, and a margin. Then
        every payload is fetched and compared with its digest, and others publish ten bytes each: each is stored, or
        refused with 503, within a second, and 99 % within 100 ms.
        """
    static let sizes = (
        usual: CrowdSize(clients: 100, bytes: 50_000_000),
        short: CrowdSize(clients: 16, bytes: 5_000_000)
    )
    /// Bodies that never come whole, for each client.
    private static let halfOpenCount = 20
    static func connectionCount(_ size: CrowdSize) -> Int { size.clients * (halfOpenCount + 1) }
    static func byteCountMax(_ size: CrowdSize, isShort: Bool) -> (beside: Int?, after: Int?) {
        ((64 + 64 + 32) << 20, 32 << 20)
    }

    let daemon: CrowdedDaemon
    private var statuses: [Int: Int] = [:]
    private var milliseconds = 1
    private var halves: [RawSocket] = []

    init(_ daemon: CrowdedDaemon) { self.daemon = daemon }

    mutating func prepare() throws {
        // What the first publishes need is not what is looked for.
        for number in 0..<20 { _ = try publish(number) }
    }

    mutating func come() throws {
        let daemon = daemon
        var generator = SeededGenerator(seed: daemon.seed)
        for number in 0..<daemon.size.clients * Self.halfOpenCount {
            let socket = try RawSocket.connect(to: daemon.socket)
            press(socket, try Self.half(number, &generator))
            halves.append(socket)
        }
        try Clock.wait(milliseconds: 120_000, orThrow: "not all of the crowd are connected") {
            try daemon.number("connections") > halves.count
        }
        let begin = Clock.milliseconds()
        let outcomes = Mutex<[Int: Int]>([:])
        try Threads.run(daemon.size.clients) { index in
            let status = try Self.upload(index, to: daemon)
            try require(
                [201, 413, 429, 503, 507].contains(status), "upload \(index) was answered \(status)"
            )
            outcomes.withLock { $0[index] = status }
        }
        statuses = outcomes.withLock { $0 }
        milliseconds = max(1, Clock.milliseconds() - begin)
    }

    mutating func stay() throws -> [String] {
        let stored = statuses.filter { $0.value == 201 }.keys.sorted()
        try require(!stored.isEmpty, "no upload was taken: \(statuses)")
        let (count, daemon) = (4, daemon)
        try Threads.run(count) { part in
            var connection = try daemon.connect()
            for (place, index) in stored.enumerated() where place % count == part {
                let expected = Self.payload(index, daemon).digest()
                // The connection compares the bytes with the digest of the answer.
                let info = try connection.get("upload-\(index)") { _, _ in }
                try require(
                    info.digest == expected,
                    "upload-\(index) has digest \(info.digest), not \(expected)")
            }
        }
        return try publishSmall() + [
            "\(stored.count) stored of \(daemon.size.bytes) bytes each, \(statuses.count - stored.count) refused",
            "\(stored.count * daemon.size.bytes / milliseconds / 1_000) MB/s",
        ]
    }

    /// Publishes beside the bodies that never come whole.
    private func publishSmall() throws -> [String] {
        var (times, refused) = ([Int](), 0)
        let piece = [UInt8](repeating: 0x20, count: 4_096)
        for number in 0..<halves.count / 2 {
            if number % 10 == 0 {
                for index in stride(from: 5, to: halves.count, by: 10) {
                    press(halves[index], piece)
                }
            }
            let (status, nanoseconds) = try publish(number)
            try require([200, 201, 503].contains(status), "a publish was answered \(status)")
            if status == 503 { refused += 1 } else { times.append(nanoseconds / 1_000) }
        }
        let (p99, most) = (percentile(99, of: times), times.max() ?? 0)
        try require(times.count > refused, "\(refused) publishes were refused, \(times.count) not")
        try require(
            daemon.isShort || p99 <= 100_000 && most <= 1_000_000,
            "publishes took up to \(most) µs, 99 % up to \(p99) µs")
        return ["\(times.count) small ones stored (99 % within \(p99) µs), \(refused) refused"]
    }

    /// Sends what is taken at once: the daemon does not read a body that waits.
    private func press(_ socket: RawSocket, _ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count, case .moved(let moved) = socket.send(bytes, from: sent) {
            sent += moved
        }
    }

    /// What client number `index` uploads. Every fourth uploads one of two payloads that others do too.
    private static func payload(_ index: Int, _ daemon: CrowdedDaemon) -> Payload {
        let isShared = index % 4 == 3
        return Payload(
            seed: daemon.seed &+ (isShared ? UInt64(index / 4 % 2) : UInt64(1_000 + index)),
            byteCount: daemon.size.bytes, kind: index % 5 == 4 && !isShared ? .text : .noise)
    }

    /// Uploads and returns the status.
    private static func upload(_ index: Int, to daemon: CrowdedDaemon) throws -> Int {
        let (payload, id) = (payload(index, daemon), "upload-\(index)")
        if index % 3 < 2 {
            return try put(payload, id: id, isChunked: index % 3 == 1, to: daemon.socket)
        }
        var options = BlobConnection.Options()
        options.timeoutMilliseconds = 300_000
        var connection = try BlobConnection.connect(to: daemon.socket, options: options)
        let request = PutRequest(id: id, mediaType: payload.mediaType, lifetime: .seconds(3_600))
        var offset = 0
        do {
            let receipt = try connection.put(request, byteCount: UInt64(payload.byteCount)) {
                piece in
                let end = min(offset + 262_144, payload.byteCount)
                payload.append(offset..<end, to: &piece)
                offset = end
            }
            return receipt.isCreated ? 201 : 200
        } catch ClientError.refused(let problem) {
            return problem.status
        }
    }

    /// Stores a payload with PUT. A daemon that answers before it has everything is heard.
    private static func put(
        _ payload: Payload, id: String, isChunked: Bool, to path: String
    ) throws -> Int {
        let socket = try RawSocket.connect(to: path)
        let length =
            isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(payload.byteCount)"
        let head = HTTPClient.request(
            "PUT", "/v1/notifications/\(id)/payload?ttl=3600",
            ["Content-Type: \(payload.mediaType)", length])
        var answer: [UInt8] = []
        var isOpen = true
        func send(_ bytes: [UInt8]) throws {
            guard isOpen, answer.isEmpty else { return }
            isOpen = try socket.sendAll(bytes, answers: &answer, milliseconds: 120_000)
        }
        try send(head)
        try payload.forEachPiece { piece in
            let size = Array((String(piece.count, radix: 16) + "\r\n").utf8)
            try send(isChunked ? size + piece + Array("\r\n".utf8) : piece)
        }
        if isChunked { try send(Array("0\r\n\r\n".utf8)) }
        return try socket.answers(received: answer, milliseconds: 300_000)[0].status
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
        let answer = try socket.ask(Array(request.dropFirst(first)), milliseconds: 120_000)
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
