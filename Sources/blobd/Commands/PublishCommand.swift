import ArgumentParser
import BlobClient

/// `blobd publish`: stores whole notifications.
struct PublishCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish a notification: what it says, its buttons, its parts.",
        usage: """
            blobd publish [<id>] [--owner <user>] [--title <text>] [--message <text>]
                          [--part <name>=<file>] ...
            blobd publish --batch <file>
            """,
        discussion: """
            All of it is stored at once, or nothing. It takes the place of everything that a \
            notification of that id was. Without an id the daemon chooses one.

              blobd publish 42 --owner ann --message 'Hi' --part payload=photo.jpg
              blobd publish --owner ann --message 'Dinner?' --category invitation
              blobd publish 43 --part payload=sha256:3ea3741a… --part sound=chime.wav
              blobd publish 44 --actions '[{"identifier":"yes","title":"Yes"}]'
              blobd publish --batch campaign.jsonl    # one JSON document a line

            A part's file may be followed by a colon and its media type, as in \
            picture=photo:image/webp; a part that the daemon has already is named by its digest.
            """)

    @Argument(help: ArgumentHelp("The notification's id.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("The user it is for.", valueName: "user"))
    var owner: String?

    @Option(help: ArgumentHelp("Which of the user's apps it is for.", valueName: "name"))
    var app: String?

    @Option(help: ArgumentHelp("A line above the text.", valueName: "text"))
    var title: String?

    @Option(help: ArgumentHelp("The notification's text.", valueName: "text"))
    var message: String?

    @Option(help: ArgumentHelp("What kind of notification it is, such as img.", valueName: "kind"))
    var richType: String?

    @Option(help: ArgumentHelp("The category whose buttons it has.", valueName: "name"))
    var category: String?

    @Option(help: ArgumentHelp("What it belongs to.", valueName: "name"))
    var group: String?

    @Option(help: ArgumentHelp("How urgent it is.", valueName: "priority"))
    var priority: NotificationRecord.Priority?

    @Option(help: ArgumentHelp("How long to show it: 30s, 5m.", valueName: "time"))
    var displayTTL: String?

    @Option(help: ArgumentHelp("Anything else, as JSON.", valueName: "json"))
    var data: String?

    @Option(help: ArgumentHelp("Its own buttons, as a JSON array.", valueName: "json"))
    var actions: String?

    @OptionGroup var life: LifetimeOptions

    @Option(
        name: .customLong("part"),
        help: ArgumentHelp(
            "A part: its name, and a file or the digest of stored bytes. May be given again.",
            valueName: "name=file"))
    var parts: [PartText] = []

    @Option(
        help: ArgumentHelp(
            "Publish every line of this file, or of standard input for -.", valueName: "file"))
    var batch: String?

    @Option(
        help: ArgumentHelp(
            "Refuse parts that these devices do not take: ios.", valueName: "profile"))
    var profile: String?

    @Option(help: ArgumentHelp("The device it comes from.", valueName: "name"))
    var device: String?

    @Flag(help: "Print what was stored as JSON.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        guard batch == nil || !saysSomething else {
            throw ValidationError(
                "--batch takes all from its lines: give it with --device and --json alone")
        }
        _ = try displayTTLSeconds()
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
        upload.priority = priority
        upload.displayTTLSeconds = try displayTTLSeconds()
        upload.data = try data.map { try JSONTexts.value($0, of: "--data") }
        upload.actions = try actions.map { try JSONTexts.actions($0) }
        upload.lifetime = try life.lifetime()
        upload.profile = profile
        let limit = connection.daemon.payloadByteCountMax
        upload.parts = try parts.map { try $0.part(byteCountMax: limit) }
        let answer = try connection.publishAnswer(upload, device: device)
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
            life.ttl, life.expiresAt, profile,
        ].contains { $0 != nil } || priority != nil || !parts.isEmpty
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
            let results = try connection.publishBatch(lines: call.bytes, device: device)
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
