import BlobProtocol
import Bytes

/// A backup of the whole store, taken by the daemon (`GET /v1/backup`) and read piece by piece. `BlobStore.restore` and
/// `blobd restore` verify that it is complete and correct.
public struct BackupDownload: ~Copyable {
    private let socket: UnixSocket
    private var input = [UInt8](repeating: 0, count: 256 << 10)
    private var start = 0
    private var end = 0
    private var decoder = ChunkedDecoder()

    /// Requests a backup, and waits until it begins.
    ///
    /// - Parameters:
    ///   - path: the daemon's socket.
    ///   - options: the timeout must allow for the first bytes, which arrive after the daemon has read all of its
    ///     tables.
    /// - Throws: ``ClientError/refused(_:)`` while four other backups are running.
    public static func begin(
        socket path: String, options: BlobConnection.Options = BlobConnection.Options()
    ) throws(ClientError) -> BackupDownload {
        var download = BackupDownload(
            try UnixSocket.connect(to: path, timeoutMilliseconds: options.timeoutMilliseconds))
        try download.request()
        return download
    }

    private init(_ socket: consuming UnixSocket) { self.socket = socket }

    /// Appends up to `byteCountMax` bytes of the backup to `buffer`, or nothing at its end.
    ///
    /// - Throws: ``ClientError/closed(_:)`` if the daemon stopped before the end.
    public mutating func read(
        into buffer: inout [UInt8], byteCountMax: Int
    ) throws(ClientError) {
        while !decoder.isComplete {
            if start == end { try receive("in the middle of a backup") }
            let range = start..<min(end, start + byteCountMax)
            var next = decoder
            let step: ChunkedDecoder.Step
            do throws(ProtocolError) {
                step = try next.next(input.span.bytes.extracting(range))
            } catch {
                throw .protocolViolation(error.detail)
            }
            decoder = next
            start += step.consumed
            guard !step.payload.isEmpty else { continue }
            buffer.append(contentsOf: step.payload.of(input.span.bytes.extracting(range)))
            return
        }
    }

    private mutating func receive(_ moment: String) throws(ClientError) {
        if start == end { (start, end) = (0, 0) }
        let count = try socket.receive(into: &input, from: end)
        guard count > 0 else { throw .closed(moment) }
        end += count
    }

    private mutating func request() throws(ClientError) {
        let head = Array("GET /v1/backup HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        // A request this short fits into any socket.
        guard try socket.sendWithoutWaiting(head.span.bytes) == head.count else {
            throw .closed("before the request")
        }
        var headEnd: Int?
        while headEnd == nil {
            try receive("before it answered")
            headEnd = input[..<end].firstRange(of: "\r\n\r\n".utf8)?.upperBound
            guard headEnd != nil || end < WireLimits.headerSectionByteCountMax else {
                throw .protocolViolation("a head of over \(end) bytes")
            }
        }
        start = headEnd ?? 0
        let words = String(decoding: input[..<min(12, end)], as: UTF8.self)
        guard words != "HTTP/1.1 200" else { return }
        guard words.hasPrefix("HTTP/1.1 "), let status = Int(words.dropFirst(9)) else {
            throw .protocolViolation("an answer that begins with \(words.debugDescription)")
        }
        // A problem document is short, and the connection may stay open after it.
        while end - start < DaemonProblem.byteCountMax, input[end - 1] != UInt8(ascii: "}"),
            (try? receive("in a problem")) != nil
        {}
        throw .refused(DaemonProblem(status: status, document: Array(input[start..<end])))
    }
}
