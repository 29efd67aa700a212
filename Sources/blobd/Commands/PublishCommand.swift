import ArgumentParser
import BlobClient
import BlobProtocol

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
            The notification is stored in one transaction, and replaces one with the same id. Without an id, \
            the daemon chooses one.

              blobd publish 42 --owner ann --message 'Hi' --part payload=photo.jpg
              blobd publish --owner ann --message 'Dinner?' --category invitation
              blobd publish 43 --part payload=sha256:3ea3741a… --part sound=chime.wav
              blobd publish 44 --title Lunch --actions '[{"identifier":"yes","title":"Yes"}]'
              blobd publish --batch campaign.jsonl    # one JSON document per line

            A part is NAME=FILE, NAME=FILE:MEDIA/TYPE such as picture=photo:image/webp, or \
            NAME=sha256:DIGEST for bytes that are already stored. A file whose name does not tell its type, \
            or tells another than its first bytes, is stored all the same, with a warning.
            """)

    @Argument(help: .named("id", "The notification's id."))
    var id: String?

    @OptionGroup var texts: TextOptions

    @Option(help: .named("name", "The category that defines its buttons."))
    var category: String?

    @Option(help: .named("name", "The group it belongs to."))
    var group: String?

    @Option(
        name: .customLong("platform"),
        help: .named("name", "A platform that it is for, such as ios. Repeatable; default: all."))
    var platforms: [String] = []

    @Option(help: .named("host", "The host that it is for."))
    var targetHost: String?

    @Option(help: .named("priority", "The priority."))
    var priority: NotificationRecord.Priority?

    @Option(help: .named("time", "The display time: 30s, 5m."))
    var displayTTL: String?

    @Option(help: .named("json", "Your data, as JSON."))
    var data: String?

    @Option(help: .named("json", "Its buttons, as a JSON array. They replace the category's."))
    var actions: String?

    @OptionGroup var life: LifetimeOptions

    @Option(
        name: .customLong("part"),
        help: .named(
            "name=file", "A part. Repeatable."),
        completion: .custom { _, _, typed in PartText.completions(of: typed) })
    var parts: [PartText] = []

    @Option(
        help: .named("file", "Publish every line of this file. - is standard input."),
        completion: .file())
    var batch: String?

    @Option(help: .named("name", "The device that publishes it."))
    var device: String?

    @Flag(help: "Print the result as JSON.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        try require(batch == nil || !saysSomething, "--batch allows only --device and --json")
        _ = try displayTTLSeconds()
        for part in parts { try part.check() }
        if let data { _ = try JSONTexts.value(data, of: "--data") }
        if let actions { _ = try JSONTexts.actions(actions) }
    }

    func run() throws {
        // Read first, so that a missing file is found before connecting.
        let lines = try batch.map { try BatchFile(InputFile.bytes(of: $0, .lines("batch"))) }
        var connection = try socket.connect()
        if let lines { return try publish(lines, &connection) }
        var upload = NotificationUpload(id: id, owner: texts.owner, message: texts.message)
        upload.app = texts.app
        upload.title = texts.title
        upload.richType = texts.richType
        upload.category = category
        upload.group = group
        upload.platforms = platforms
        upload.targetHost = targetHost
        upload.priority = priority
        upload.displayTTLSeconds = try displayTTLSeconds()
        upload.data = try data.map { try JSONTexts.value($0, of: "--data") }
        upload.actions = try actions.map { try JSONTexts.actions($0) }
        upload.lifetime = try life.lifetime()
        upload.profile = texts.profile
        let limit = connection.daemon.payloadByteCountMax
        upload.parts = try parts.map { try $0.part(byteCountMax: limit) }
        let answer: CallAnswer
        do {
            answer = try connection.answer(to: .publish(upload, device: device))
        } catch {
            throw KnownNames.explain(error, .unknownCategory) {
                KnownNames.categories(for: texts.app, &connection)
            }
        }
        defer {
            for case let note? in zip(parts, upload.parts).map({ $0.note(on: $1) }) {
                StandardError.note(note)
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
        let others = [
            id, category, group, displayTTL, data, actions, life.ttl, life.expiresAt, targetHost,
        ]
        return !texts.isEmpty || others.contains { $0 != nil } || priority != nil
            || !parts.isEmpty || !platforms.isEmpty
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

    /// Sends the calls one by one. Refused lines are reported by number; the others are stored.
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
                    guard json else { continue }
                    try StandardOutput.write(
                        try JSONLine.object([
                            "id": result.id, "created": result.status == 201,
                            "revision": result.revision,
                        ]))
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

/// The lines of a batch, divided into calls that the daemon accepts.
struct BatchFile {
    struct Call {
        var bytes: [UInt8] = []
        var lineNumbers: [Int] = []
    }

    private(set) var calls: [Call] = []

    init(_ bytes: [UInt8]) {
        var call = Call()
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard line.contains(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }) else { continue }
            let isFull =
                call.lineNumbers.count == WireLimits.batchLineCountMax
                || call.bytes.count + line.count + 1 > WireLimits.batchByteCountMax
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
