import ArgumentParser
import BlobClient
import BlobProtocol

/// `blobd publish`: stores whole notifications.
struct PublishCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish a whole notification: texts, buttons and parts.",
        usage: """
            blobd publish [<id>] [--owner <user>] [--title <text>] [--message <text>]
                          [--part <name>=<file>] ...
            blobd publish --batch <file>
            """,
        discussion: """
            The notification is stored in one transaction. It replaces a notification with the same \
            id. Without an id the daemon chooses one.

              blobd publish 42 --owner ann --message 'Hi' --part payload=photo.jpg
              blobd publish --owner ann --message 'Dinner?' --category invitation
              blobd publish 43 --part payload=sha256:3ea3741a… --part sound=chime.wav
              blobd publish 44 --actions '[{"identifier":"yes","title":"Yes"}]'
              blobd publish --batch campaign.jsonl    # one JSON document per line

            A part is NAME=FILE, NAME=FILE:MEDIA/TYPE such as picture=photo:image/webp, or \
            NAME=sha256:DIGEST for bytes that are already stored.
            """)

    @Argument(help: ArgumentHelp("The notification's id.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("The user it belongs to.", valueName: "user"))
    var owner: String?

    @Option(help: ArgumentHelp("The app it is for.", valueName: "name"))
    var app: String?

    @Option(help: ArgumentHelp("The title.", valueName: "text"))
    var title: String?

    @Option(help: ArgumentHelp("The message.", valueName: "text"))
    var message: String?

    @Option(help: ArgumentHelp("The rich type, such as img.", valueName: "kind"))
    var richType: String?

    @Option(help: ArgumentHelp("The category that gives its buttons.", valueName: "name"))
    var category: String?

    @Option(help: ArgumentHelp("The group it belongs to.", valueName: "name"))
    var group: String?

    @Option(
        name: .customLong("platform"),
        help: ArgumentHelp(
            "A platform that it is for, such as ios. Repeatable; default: all.",
            valueName: "name"))
    var platforms: [String] = []

    @Option(help: ArgumentHelp("The host that it is for.", valueName: "host"))
    var targetHost: String?

    @Option(help: ArgumentHelp("The priority.", valueName: "priority"))
    var priority: NotificationRecord.Priority?

    @Option(help: ArgumentHelp("The display time: 30s, 5m.", valueName: "time"))
    var displayTTL: String?

    @Option(help: ArgumentHelp("Your own data, as JSON.", valueName: "json"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "Its buttons, as a JSON array. They replace the category's.", valueName: "json"))
    var actions: String?

    @OptionGroup var life: LifetimeOptions

    @Option(
        name: .customLong("part"),
        help: ArgumentHelp(
            "A part: its name, and a file or the digest of stored bytes. Repeatable.",
            valueName: "name=file"))
    var parts: [PartText] = []

    @Option(
        help: ArgumentHelp(
            "Publish every line of this file. - is standard input.", valueName: "file"))
    var batch: String?

    @Option(
        help: ArgumentHelp(
            "Refuse parts that these devices do not take: ios or android.",
            valueName: "profile"))
    var profile: String?

    @Option(help: ArgumentHelp("The device that publishes it.", valueName: "name"))
    var device: String?

    @Flag(help: "Print the result as JSON.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard batch == nil || !saysSomething else {
            throw ValidationError(
                "--batch allows only --device and --json")
        }
        _ = try displayTTLSeconds()
        for part in parts { try part.check() }
        if let data { _ = try JSONTexts.value(data, of: "--data") }
        if let actions { _ = try JSONTexts.actions(actions) }
    }

    func run() throws {
        if let batch {
            let lines = try BatchFile(batch)
            var connection = try socket.connect()
            return try publish(lines, &connection)
        }
        var connection = try socket.connect()
        var upload = NotificationUpload(id: id, owner: owner, message: message)
        upload.app = app
        upload.title = title
        upload.richType = richType
        upload.category = category
        upload.group = group
        upload.platforms = platforms
        upload.targetHost = targetHost
        upload.priority = priority
        upload.displayTTLSeconds = try displayTTLSeconds()
        upload.data = try data.map { try JSONTexts.value($0, of: "--data") }
        upload.actions = try actions.map { try JSONTexts.actions($0) }
        upload.lifetime = try life.lifetime()
        upload.profile = profile
        let limit = connection.daemon.payloadByteCountMax
        upload.parts = try parts.map { try $0.part(byteCountMax: limit) }
        let answer: CallAnswer
        do {
            answer = try connection.answer(to: .publish(upload, device: device))
        } catch {
            throw KnownNames.explain(error, .unknownCategory) {
                KnownNames.categories(for: app, &connection)
            }
        }
        guard !json else { return try StandardOutput.writeLine(answer.body) }
        let record = try NotificationRecord(document: answer.body)
        let byteCount = record.parts.reduce(Int64(0)) { $0 &+ $1.byteCount }
        try StandardOutput.write(
            "\(answer.status == 201 ? "created" : "replaced") \(record.id)"
                + "  revision \(HumanText.count(record.revision))"
                + "  \(record.parts.count == 1 ? "1 part" : "\(record.parts.count) parts")"
                + "  \(HumanText.bytes(byteCount))  expires \(record.expiresAt)\n")
    }

    private var saysSomething: Bool {
        [
            id, owner, app, title, message, richType, category, group, displayTTL, data, actions,
            life.ttl, life.expiresAt, profile, targetHost,
        ].contains { $0 != nil } || priority != nil || !parts.isEmpty || !platforms.isEmpty
    }

    private func displayTTLSeconds() throws -> Int? {
        guard let displayTTL else { return nil }
        guard let seconds = CommandLineText.seconds(displayTTL).flatMap({ Int(exactly: $0) }) else {
            throw ValidationError(
                "--display-ttl '\(displayTTL)' is not a time: give whole seconds, at least 1, "
                    + "or a number with s, m, h or d")
        }
        return seconds
    }

    /// Sends call after call. What was refused is told by line, and the others are stored all the
    /// same.
    private func publish(_ lines: BatchFile, _ connection: inout BlobConnection) throws {
        var stored = 0
        var refused = 0
        for call in lines.calls {
            let results = try connection.call(
                .publishBatch(lines: call.bytes, device: device))
            guard results.count == call.lineNumbers.count else {
                throw CommandFailure(
                    .refused,
                    "\(results.count) answers to \(call.lineNumbers.count) lines of a batch")
            }
            for (number, result) in zip(call.lineNumbers, results) {
                if result.status < 400 {
                    stored += 1
                    if json { try StandardOutput.write(try JSONLine.text(BatchReport(result))) }
                } else {
                    refused += 1
                    StandardError.write(
                        "blobd: line \(number): \(HumanText.line(result.detail ?? "refused"))"
                            + " (\(result.status) \(result.code ?? "unknown"))\n")
                }
            }
        }
        if !json {
            try StandardOutput.write(
                "published \(HumanText.count(stored)), refused \(HumanText.count(refused))\n")
        }
        if refused > 0 { throw ExitCode(ExitStatus.refused.rawValue) }
    }
}

/// What `publish --batch --json` prints for each notification.
private struct BatchReport: Encodable {
    var id: String?
    var created: Bool
    var revision: UInt64?

    init(_ result: BatchResult) {
        id = result.id
        created = result.status == 201
        revision = result.revision
    }
}

/// The lines of a batch, cut into calls that the daemon takes.
struct BatchFile {
    /// The largest file, in bytes.
    static let byteCountMax: UInt64 = 1 << 28
    /// The most bytes and lines of one call.
    static let callByteCountMax = 8 << 20
    static let callLineCountMax = 1_000

    /// One call.
    struct Call {
        var bytes: [UInt8] = []
        /// Where its lines stand in the file, from 1 on.
        var lineNumbers: [Int] = []
    }

    private(set) var calls: [Call] = []

    /// Reads a file, or standard input for `-`. Empty lines are skipped.
    init(_ path: String) throws {
        let file = try PayloadFile(path, byteCountMax: Self.byteCountMax)
        guard file.byteCount <= Self.byteCountMax else {
            throw CommandFailure(
                .badUsage,
                "\(path) is \(file.byteCount) bytes long; the limit for a batch is "
                    + "\(Self.byteCountMax)")
        }
        self.init(try file.readAll())
    }

    init(_ bytes: [UInt8]) {
        var call = Call()
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard line.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { continue }
            let isFull =
                call.lineNumbers.count == Self.callLineCountMax
                || call.bytes.count + line.count + 1 > Self.callByteCountMax
            if isFull, !call.lineNumbers.isEmpty {
                calls.append(call)
                call = Call()
            }
            call.bytes += line
            call.bytes.append(UInt8(ascii: "\n"))
            call.lineNumbers.append(index + 1)
        }
        if !call.lineNumbers.isEmpty { calls.append(call) }
    }
}
