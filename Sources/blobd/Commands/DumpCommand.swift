import ArgumentParser
import BlobClient
import BlobJSON

struct DumpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump",
        abstract: "Write all notifications and payloads as a tar archive of JSON lines and files.",
        discussion: """
            For other programs and other versions of blobd. A dump is not a snapshot: to save a store as it \
            is, use blobd backup. The archive contains:

              categories.jsonl                 one category per line
              blobs/sha256/DIGEST              the bytes of a payload, as they were published
              notifications/NUMBER.jsonl       one notification per line; parts name their digests

            Payloads come before the notifications that refer to them.

              blobd dump all.tar
              blobd dump - | tar t
              blobd load all.tar --socket /run/other/blobd.sock
            """)

    @Argument(
        help: .named("file", "The file to create, or - for standard output."), completion: .file())
    var file: String

    @OptionGroup var socket: SocketOptions

    func run() throws {
        try NewFile.write("a tar archive", to: file) { write in
            try dump { try write($0.span.bytes) }
        } summary: {
            $0
        }
    }

    private func dump(_ write: ([UInt8]) throws -> Void) throws -> String {
        var connection = try socket.connect()
        let stats = try connection.call(.stats)
        var progress = ProgressBar("dumping")
        defer { progress.finish() }
        var dump = Dump(time: wallClockMilliseconds() / 1_000)
        try dump.addCategories(of: &connection, write)
        var next: String?
        repeat {
            let call = try DaemonCall.list(limit: Self.pageCount, after: next)
            let answer = try connection.answer(to: call)
            try dump.add(page: answer.body, &connection, write) { byteCount in
                progress.update(UInt64(byteCount), of: UInt64(max(0, stats.bytes ?? 0)))
            }
            next = try call.read(answer).next
        } while next != nil
        try write(TarArchive.end)
        return "dumped \(HumanText.count(dump.notificationCount)) notifications and "
            + "\(HumanText.count(dump.digests.count)) payloads, \(HumanText.bytes(dump.byteCount))\n"
    }

    private static let pageCount = 1_000
}

private struct Dump {
    let time: Int64
    var digests: Set<PayloadDigest> = []
    var notificationCount = 0
    var byteCount = 0
    private var pageCount = 0

    init(time: Int64) { self.time = time }

    mutating func addCategories(
        of connection: inout BlobConnection, _ write: ([UInt8]) throws -> Void
    ) throws {
        var lines: [UInt8] = []
        try connection.readPages({ .categories(after: $0) }) { _, answer in
            for line in try JSONTexts.lines("categories", in: answer.body) { lines += line.utf8 }
            return true
        }
        try add("categories.jsonl", lines, write)
    }

    /// Adds the payloads of a page that are not in the archive yet, then the page's lines.
    mutating func add(
        page document: [UInt8], _ connection: inout BlobConnection,
        _ write: ([UInt8]) throws -> Void, progress: (Int) -> Void
    ) throws {
        var lines: [UInt8] = []
        for listed in try JSONTexts.value(document).elements("notifications") {
            guard let record = try added(listed, &connection, write) else { continue }
            record.append(to: &lines)
            lines.append(UInt8(ascii: "\n"))
            notificationCount += 1
            progress(byteCount)
        }
        guard !lines.isEmpty else { return }
        pageCount += 1
        let digits = String(pageCount)
        let number = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
        try add("notifications/\(number).jsonl", lines, write)
    }

    /// Adds the payloads of a notification. If they were replaced since it was listed, it is read again.
    ///
    /// - Returns: the notification with these payloads; nil if it no longer exists.
    private mutating func added(
        _ listed: JSONValue, _ connection: inout BlobConnection,
        _ write: ([UInt8]) throws -> Void
    ) throws -> JSONValue? {
        guard let id = listed.text("id") else {
            throw CommandFailure(.refused, "the daemon's record has no id")
        }
        var record = listed
        for _ in 0..<Self.attemptCountMax {
            if try addBlobs(of: record, &connection, write) { return record }
            do {
                record = try JSONTexts.value(try connection.answer(to: .stat(id)).body)
            } catch ClientError.notFound, ClientError.expired {
                return nil
            }
        }
        throw CommandFailure(
            .refused,
            "\(id) was replaced \(Self.attemptCountMax) times while it was read: dump again when there are fewer changes"
        )
    }

    private static let attemptCountMax = 100

    private mutating func addBlobs(
        of record: JSONValue, _ connection: inout BlobConnection,
        _ write: ([UInt8]) throws -> Void
    ) throws -> Bool {
        for part in record.elements("parts") {
            guard let text = part.text("digest"), let digest = PayloadDigest(text) else {
                throw CommandFailure(.refused, "the daemon's record has a part without a digest")
            }
            guard !digests.contains(digest) else { continue }
            let name = "blobs/sha256/\(text.dropFirst("sha256:".count))"
            do {
                try addBlob(digest, name, &connection, write)
            } catch ClientError.notFound, ClientError.expired {
                return false
            }
            digests.insert(digest)
        }
        return true
    }

    /// Adds a payload of any length piece by piece.
    private mutating func addBlob(
        _ digest: PayloadDigest, _ name: String, _ connection: inout BlobConnection,
        _ write: ([UInt8]) throws -> Void
    ) throws {
        var isBegun = false
        let info = try connection.getBlob(digest) { info, piece in
            if !isBegun {
                try write(TarArchive.head(name, byteCount: Int(info.byteCount), time: time))
            }
            isBegun = true
            try piece.withUnsafeBytes { try write(Array($0)) }
        }
        let count = Int(info.byteCount)
        if !isBegun { try write(TarArchive.head(name, byteCount: count, time: time)) }
        try write(TarArchive.padding(after: count))
        byteCount += count
    }

    private mutating func add(
        _ name: String, _ bytes: [UInt8], _ write: ([UInt8]) throws -> Void
    ) throws {
        try write(TarArchive.head(name, byteCount: bytes.count, time: time))
        try write(bytes)
        try write(TarArchive.padding(after: bytes.count))
        byteCount += bytes.count
    }
}
