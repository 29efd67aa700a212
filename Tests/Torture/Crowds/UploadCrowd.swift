import BlobClient
import Synchronization
import TestSupport

/// Clients that upload large payloads at the same time.
struct UploadCrowd: CrowdKind {
    static let name = "upload"
    static let line = "100 clients upload 50 MB each: is the daemon's memory bounded?"
    static let details = """
        A third of the clients speaks the binary protocol, a third HTTP with Content-Length, a third
        HTTP in chunks; every fourth uploads what others upload too. The daemon's own memory may grow
        by 64 MiB for bodies on their way, 64 MiB for a transaction, and a margin. Then every payload
        is fetched and compared with its digest.
        """
    static let sizes = (
        usual: CrowdSize(clients: 100, bytes: 50_000_000),
        short: CrowdSize(clients: 8, bytes: 5_000_000)
    )
    static func byteCountMax(_ size: CrowdSize, isShort: Bool) -> (beside: Int?, after: Int?) {
        ((64 + 64 + 32) << 20, nil)
    }

    let daemon: CrowdedDaemon
    private var statuses: [Int: Int] = [:]
    private var milliseconds = 1

    init(_ daemon: CrowdedDaemon) { self.daemon = daemon }

    mutating func come() throws {
        let (begin, daemon) = (Clock.milliseconds(), daemon)
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
        return [
            "\(stored.count) stored of \(daemon.size.bytes) bytes each, \(statuses.count - stored.count) refused",
            "\(stored.count * daemon.size.bytes / milliseconds / 1_000) MB/s",
        ]
    }

    mutating func leave() -> [String] { [] }

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
}
