import ArgumentParser
import BlobClient
import BlobProtocol
import BlobStore

/// `blobd put`: stores a payload for a notification, or one for many.
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
            The payload is on disk when the command returns. An existing part is replaced. Without \
            an option, its value stays: title, message, rich type, owner, app and expiry.

              blobd put 42 photo.jpg --ttl 24h --message 'Look who is here' --rich-type img
              blobd put 42 chime.wav --part sound
              magick in.png -resize 50% webp:- | blobd put 43 - --type image/webp
              blobd put --ids-from ids.txt banner.png    # stored once
              blobd put 44 report.json.gz --gzip         # stores the decompressed payload
              blobd put --blob banner.png --ttl 1h       # for notifications that name its digest
            """)

    @Argument(help: ArgumentHelp("The notification's id.", valueName: "id"))
    var id: String

    @Argument(
        help: ArgumentHelp("The payload's file. - is standard input.", valueName: "file")
    )
    var file: String?

    @Option(
        help: ArgumentHelp("Store it for every id in this file, one per line.", valueName: "list"))
    var idsFrom: String?

    @Option(
        help: ArgumentHelp(
            "The media type. Default: by the file's name, else application/octet-stream.",
            valueName: "media-type"))
    var type: String?

    @OptionGroup var life: LifetimeOptions

    @Option(help: ArgumentHelp("The title.", valueName: "text"))
    var title: String?

    @Option(help: ArgumentHelp("The message.", valueName: "text"))
    var message: String?

    @Option(help: ArgumentHelp("The rich type, such as img.", valueName: "kind"))
    var richType: String?

    @Option(help: ArgumentHelp("The user it belongs to.", valueName: "user"))
    var owner: String?

    @Option(help: ArgumentHelp("The app it is for.", valueName: "name"))
    var app: String?

    @Option(help: ArgumentHelp("The part's name. Default: payload.", valueName: "name"))
    var part: String?

    @Option(
        help: ArgumentHelp(
            "Refuse parts that these devices do not take: ios or android.",
            valueName: "profile"))
    var profile: String?

    @Flag(help: "The file is gzip-compressed. The decompressed payload is stored.")
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
            guard file == nil, idsFrom == nil else {
                throw ValidationError("--blob excludes an id: give only the file")
            }
            let others = [title, message, richType, owner, app, part, profile]
            guard others.allSatisfy({ $0 == nil }), life.expiresAt == nil else {
                throw ValidationError("--blob allows only --type, --ttl, --gzip and --json")
            }
        } else if idsFrom != nil {
            guard file == nil else {
                throw ValidationError("--ids-from excludes an id: give only the file")
            }
            guard idsFrom != "-" || id != "-" else {
                throw ValidationError("--ids-from and the payload must not both be standard input")
            }
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
        let payload = try PayloadFile(path, byteCountMax: limit)
        if blob {
            try checkLength(of: payload, path, limit)
            try putBlob(try payload.readAll(), path, &connection)
        } else if let ids {
            try checkLength(of: payload, path, limit)
            let bytes = try payload.readAll()
            // At most about 16 MiB in flight, whatever the payload's size.
            let inFlightMax = max(1, (16 << 20) / max(1, bytes.count))
            let pool = try ConnectionPool(
                connection, count: min(ids.count, ConnectionPool.changeCountMax),
                inFlightMax: inFlightMax, socket)
            try putMany(ids, bytes, path, pool)
        } else {
            try putOne(payload, path, &connection)
        }
    }

    /// Refuses a file over the limit before it is read into memory.
    private func checkLength(
        of payload: borrowing PayloadFile, _ path: String, _ limit: UInt64
    ) throws(CommandFailure) {
        guard payload.byteCount <= limit else {
            throw CommandFailure(
                .refused,
                "\(path) is \(payload.byteCount) bytes long; the daemon's limit is \(limit) bytes")
        }
    }

    /// Stores a blob without a notification, and prints its digest.
    private func putBlob(
        _ bytes: [UInt8], _ path: String, _ connection: inout BlobConnection
    ) throws {
        var seconds: Int64?
        if case .seconds(let given) = try life.lifetime() { seconds = given }
        let receipt = try connection.call(
            .storeBlob(
                bytes, mediaType: mediaType(of: path), ttlSeconds: seconds, coding: coding))
        try StandardOutput.write(
            json
                ? try JSONLine.text(PutBlobReport(receipt))
                : "\(receipt.isCreated ? "created" : "already stored") \(receipt.digest)"
                    + "  \(HumanText.bytes(receipt.byteCount))  held until \(receipt.heldUntil)\n")
    }

    private func putOne(
        _ payload: borrowing PayloadFile, _ path: String, _ connection: inout BlobConnection
    ) throws {
        var progress = ProgressBar("sending")
        defer { progress.finish() }
        let total = payload.byteCount
        var sent: UInt64 = 0
        let receipt = try connection.put(try request(for: id, path), byteCount: total) { piece in
            try payload.read(into: &piece)
            sent += UInt64(piece.count)
            progress.update(sent, of: total)
        }
        progress.finish()
        try StandardOutput.write(
            json
                ? try JSONLine.text(PutReport(receipt, part: part))
                : "\(receipt.isCreated ? "created" : "replaced") \(receipt.id)"
                    + "  \(HumanText.bytes(receipt.byteCount))  \(receipt.digest)"
                    + "  expires \(CommandLineText.text(milliseconds: receipt.expiryMilliseconds))\n"
        )
    }

    /// Stores the same payload for every id.
    private func putMany(
        _ ids: [String], _ bytes: [UInt8], _ path: String, _ pool: ConnectionPool
    ) throws {
        var report = PutManyReport()
        var progress = ProgressBar("storing") { "\(HumanText.count($0)) notifications" }
        defer { progress.finish() }
        try pool.forEach(ids) { connection, id in
            _ = try connection.queuePut(try request(for: id, path), bytes.span.bytes)
        } take: { id, outcome in
            switch outcome {
            case .stored(let receipt):
                if receipt.isCreated { report.created += 1 } else { report.replaced += 1 }
                report.digest = "\(receipt.digest)"
            case .failed(let error):
                let done = HumanText.count(report.created + report.replaced)
                throw CommandFailure(
                    ExitStatus(error),
                    "stopped at \(HumanText.line(id)); at least \(done) are stored: \(error)"
                )
            default:
                throw CommandFailure(.refused, "the answer is not a put's answer")
            }
            progress.update(UInt64(report.created + report.replaced), of: UInt64(ids.count))
        }
        progress.finish()
        report.byteCount = bytes.count
        try StandardOutput.write(
            json
                ? try JSONLine.text(report)
                : "created \(HumanText.count(report.created)), "
                    + "replaced \(HumanText.count(report.replaced))"
                    + "  \(HumanText.bytes(bytes.count)) each  \(report.digest ?? "")\n")
    }

    private func request(for id: String, _ path: String) throws -> PutRequest {
        PutRequest(
            id: id, part: part, mediaType: mediaType(of: path), owner: owner,
            app: app, title: title, message: message, richType: richType,
            lifetime: try life.lifetime(), profile: profile, coding: coding)
    }

    private var coding: WireCoding { gzip ? .gzip : .identity }

    /// The media type: `--type`, or by the file's name, with `--gzip` without its `.gz`.
    private func mediaType(of path: String) -> String? {
        if let type { return type }
        let isNamedSo = gzip && path.lowercased().hasSuffix(".gz")
        return MediaTypes.suggested(by: isNamedSo ? String(path.dropLast(3)) : path)
    }
}

/// What `put --json` prints.
private struct PutReport: Encodable {
    var id: String
    var part: String
    var created: Bool
    var digest: String
    var byteCount: UInt64
    var storedByteCount: UInt64
    var coding: String
    var expiresAt: String
    var revision: UInt64

    init(_ receipt: PutReceipt, part: String?) {
        id = receipt.id
        self.part = part ?? "payload"
        created = receipt.isCreated
        digest = "\(receipt.digest)"
        byteCount = receipt.byteCount
        storedByteCount = receipt.storedByteCount
        coding = receipt.isCompressed ? "gzip" : "identity"
        expiresAt = CommandLineText.text(milliseconds: receipt.expiryMilliseconds)
        revision = receipt.revision
    }
}

/// What `put --blob --json` prints.
private struct PutBlobReport: Encodable {
    var digest: String
    var created: Bool
    var byteCount: Int64
    var storedByteCount: Int64
    var coding: String
    var heldUntil: String

    init(_ receipt: HeldBlobReceipt) {
        digest = "\(receipt.digest)"
        created = receipt.isCreated
        byteCount = receipt.byteCount
        storedByteCount = receipt.storedByteCount
        coding = receipt.coding
        heldUntil = receipt.heldUntil
    }
}

/// What `put --ids-from --json` prints.
private struct PutManyReport: Encodable {
    var created = 0
    var replaced = 0
    var byteCount = 0
    var digest: String?
}
