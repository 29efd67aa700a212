import ArgumentParser
import BlobClient
import BlobProtocol
import BlobStore

struct PutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Store a payload for a notification.",
        usage: """
            blobd put <id> <file> [--type <media-type>] [--ttl <time> | --expires-at <time>] ...
            blobd put --ids-from <list> <file> ...
            blobd put --blob <file> [--type <media-type>] [--ttl <time>]
            """,
        discussion: """
            The payload is on disk when the command returns. An existing part is replaced. Texts, owner, app \
            and expiry keep their values unless you set them. A file whose name does not tell its type, or \
            tells another than its first bytes, is stored all the same, with a warning.

              blobd put 42 photo.jpg --ttl 24h --message 'Look who is here' --rich-type img
              blobd put 42 chime.wav --part sound
              magick in.png -resize 50% webp:- | blobd put 43 - --type image/webp
              blobd put --ids-from ids.txt banner.png    # stored once
              blobd put 44 report.json.gz --gzip         # stores the decompressed payload
              blobd put --blob banner.png --ttl 1h       # for notifications that name its digest
            """)

    // With --blob and --ids-from the first argument is the file.
    @Argument(help: .named("id", "The notification's id."), completion: .file())
    var id: String

    @Argument(
        help: .named("file", "The payload's file. - is standard input."), completion: .file())
    var file: String?

    @Option(
        help: .named("list", "Store it for every id in this file, one per line."),
        completion: .file())
    var idsFrom: String?

    @Option(
        help: .named(
            "media-type",
            "The media type. Default: by the file's name, else application/octet-stream."))
    var type: String?

    @OptionGroup var life: LifetimeOptions

    @OptionGroup var texts: TextOptions

    @Option(help: .named("name", "The part's name. Default: payload."))
    var part: String?

    @Flag(help: "The file is gzip-compressed.")
    var gzip = false

    @Flag(help: "Store the bytes without a notification, for --ttl or 1 h. Prints their digest.")
    var blob = false

    @Flag(help: "Print the result as JSON.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        if let type, !type.contains("/") {
            let meant = MediaTypes.suggested(by: ".\(type)") ?? "image/jpeg"
            throw ValidationError(
                "--type \(type) is not a media type: give type/subtype, such as \(meant)")
        }
        if blob {
            try require(
                file == nil && idsFrom == nil,
                "--blob cannot be used with an id: give only the file")
            try require(
                texts.isEmpty && part == nil && life.expiresAt == nil,
                "--blob allows only --type, --ttl, --gzip and --json")
        } else if idsFrom != nil {
            try require(file == nil, "--ids-from cannot be used with an id: give only the file")
            try require(
                idsFrom != "-" || id != "-",
                "--ids-from and the payload must not both be standard input")
        } else if file == nil {
            throw ValidationError("Missing expected argument '<file>'")
        }
    }

    func run() throws {
        // With --ids-from and --blob the only argument is the file.
        let path = file ?? id
        let ids = try idsFrom.map { try IDList.read($0) }
        var connection = try socket.connect()
        var limit = connection.daemon.payloadByteCountMax
        if gzip {
            limit = UInt64(
                StoreLimits.codedByteCountMax(
                    for: Int(clamping: min(limit, UInt64(StoreLimits.payloadByteCountMax)))))
        }
        guard blob || ids != nil else {
            var payload = try InputFile.measured(path, byteCountMax: limit)
            let start = payload.peek(FileSignature.byteCount)
            try putOne(&payload, path, &connection)
            return note(path, start)
        }
        let bytes = try InputFile.bytes(of: path, .payload(limit))
        let start = Array(bytes.prefix(FileSignature.byteCount))
        guard let ids else {
            try putBlob(bytes, path, &connection)
            return note(path, start)
        }
        // At most about 16 MiB in flight, whatever the size of the payload.
        let inFlightMax = max(1, (16 << 20) / max(1, bytes.count))
        let pool = try ConnectionPool(
            connection, count: min(ids.count, ConnectionPool.changeCountMax),
            inFlightMax: inFlightMax, socket)
        try putMany(ids, bytes, path, pool)
        note(path, start)
    }

    private func putBlob(
        _ bytes: [UInt8], _ path: String, _ connection: inout BlobConnection
    ) throws {
        let receipt = try connection.call(
            .storeBlob(
                bytes, mediaType: mediaType(of: path),
                ttlSeconds: try life.lifetime().ttlSeconds, coding: coding))
        try StandardOutput.write(
            json
                ? try JSONLine.object([
                    "digest": "\(receipt.digest)", "created": receipt.isCreated,
                    "byte_count": receipt.byteCount,
                    "stored_byte_count": receipt.storedByteCount, "coding": receipt.coding,
                    "held_until": receipt.heldUntil,
                ])
                : "\(receipt.isCreated ? "created" : "already stored") \(receipt.digest)"
                    + "  \(HumanText.bytes(receipt.byteCount))  held until \(receipt.heldUntil)\n")
    }

    private func putOne(
        _ payload: inout InputFile, _ path: String, _ connection: inout BlobConnection
    ) throws {
        var progress = ProgressBar("sending")
        defer { progress.finish() }
        let total = payload.byteCountInAll
        let receipt = try connection.put(try request(for: id, path), byteCount: total) { piece in
            try payload.read(into: &piece)
            progress.update(UInt64(payload.byteCount), of: total)
        }
        progress.finish()
        let expiry = CommandLineText.text(milliseconds: receipt.expiryMilliseconds)
        try StandardOutput.write(
            json
                ? try JSONLine.object([
                    "id": receipt.id, "part": part ?? "payload", "created": receipt.isCreated,
                    "digest": "\(receipt.digest)", "byte_count": receipt.byteCount,
                    "stored_byte_count": receipt.storedByteCount,
                    "coding": receipt.isCompressed ? "gzip" : "identity", "expires_at": expiry,
                    "revision": receipt.revision,
                ])
                : "\(receipt.isCreated ? "created" : "replaced") \(receipt.id)"
                    + "  \(HumanText.bytes(receipt.byteCount))  \(receipt.digest)"
                    + "  expires \(expiry)\n")
    }

    private func putMany(
        _ ids: [String], _ bytes: [UInt8], _ path: String, _ pool: ConnectionPool
    ) throws {
        var created = 0
        var replaced = 0
        var digest: PayloadDigest?
        var progress = ProgressBar("storing") { "\(HumanText.count($0)) notifications" }
        defer { progress.finish() }
        try pool.forEach(ids) { connection, id in
            _ = try connection.queuePut(try request(for: id, path), bytes.span.bytes)
        } take: { id, outcome in
            switch outcome {
            case .stored(let receipt):
                if receipt.isCreated { created += 1 } else { replaced += 1 }
                digest = receipt.digest
            case .failed(let error):
                let done = HumanText.count(created + replaced)
                throw CommandFailure(
                    ExitStatus(error),
                    "stopped at \(HumanText.line(id)); at least \(done) are stored: \(error)")
            default:
                throw CommandFailure(.refused, "unexpected answer to a put")
            }
            progress.update(UInt64(created + replaced), of: UInt64(ids.count))
        }
        progress.finish()
        let name = digest.map { "\($0)" }
        try StandardOutput.write(
            json
                ? try JSONLine.object([
                    "created": created, "replaced": replaced, "byte_count": bytes.count,
                    "digest": name,
                ])
                : "created \(HumanText.count(created)), replaced \(HumanText.count(replaced))"
                    + "  \(HumanText.bytes(bytes.count)) each  \(name ?? "")\n")
    }

    private func request(for id: String, _ path: String) throws -> PutRequest {
        PutRequest(
            id: id, part: part, mediaType: mediaType(of: path), owner: texts.owner,
            app: texts.app, title: texts.title, message: texts.message,
            richType: texts.richType, lifetime: try life.lifetime(), profile: texts.profile,
            coding: coding)
    }

    private var coding: WireCoding { gzip ? .gzip : .identity }

    /// The media type: `--type`, or that of the file's name.
    private func mediaType(of path: String) -> String? {
        type ?? MediaTypes.suggested(by: name(of: path))
    }

    /// The name of the payload's file: with `--gzip` without its `.gz`.
    private func name(of path: String) -> String {
        gzip && path.lowercased().hasSuffix(".gz") ? String(path.dropLast(3)) : path
    }

    private func note(_ path: String, _ start: [UInt8]) {
        // Of what is compressed the first bytes are not known.
        let start = gzip ? [] : start
        guard type == nil,
            let note = MediaTypes.note(
                path == "-" ? nil : name(of: path), start: start.span.bytes,
                option: { "--type \($0)" })
        else { return }
        StandardError.note(note)
    }
}
