import ArgumentParser
import BlobClient
import Glibc

/// `blobd get`: fetches a payload, or fetches and checks many.
struct GetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Fetch a payload.",
        usage: """
            blobd get <id> [--part <name>] [-o <file>]
            blobd get --ids-from <list> --check [--json]
            """,
        discussion: """
            The bytes are compared with their SHA-256 as they come. With -o the file appears when all \
            of them are there and right, and otherwise not at all. On standard output they come as \
            they are; the exit code tells whether they were right.

              blobd get 42 -o photo.jpg
              blobd get 42 --part sound | aplay
              blobd get --ids-from ids.txt --check    # fetch all, compare all, keep none
            """)

    @Argument(help: ArgumentHelp("The notification's id.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("The part's name. Without it: payload.", valueName: "name"))
    var part: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The file to write. Without it: standard output.", valueName: "file"))
    var output: String?

    @Option(help: ArgumentHelp("Fetch for every id in this file, one a line.", valueName: "list"))
    var idsFrom: String?

    @Flag(help: "With --ids-from: compare every payload with its digest and print a summary.")
    var check = false

    @Flag(help: "With --check: print the summary as JSON.")
    var json = false

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        if idsFrom != nil {
            guard id == nil, output == nil, check else {
                throw ValidationError("--ids-from goes with --check, and without an id and -o")
            }
        } else {
            guard id != nil else { throw ValidationError("Missing expected argument '<id>'") }
            guard !check, !json else {
                throw ValidationError("--check and --json go with --ids-from")
            }
        }
    }

    func run() throws {
        var connection = try socket.connect()
        if let idsFrom {
            try checkMany(try IDList.read(idsFrom), &connection)
        } else if let output {
            try fetch(to: output, &connection)
        } else {
            try fetchToStandardOutput(&connection)
        }
    }

    private func fetch(to path: String, _ connection: inout BlobConnection) throws {
        let file = try NewFile(path)
        try fetch(&connection) { _, piece throws(CommandFailure) in try file.write(piece) }
        try file.keep()
    }

    private func fetchToStandardOutput(_ connection: inout BlobConnection) throws {
        let isTerminal = StandardOutput.isTerminal
        try fetch(&connection) { info, piece throws(CommandFailure) in
            guard !isTerminal || MediaTypes.isText(info.mediaType) else {
                throw CommandFailure(
                    .badUsage,
                    "\(info.mediaType) is not for a terminal; write it to a file: -o FILE")
            }
            try StandardOutput.write(piece)
        }
    }

    private func fetch(
        _ connection: inout BlobConnection,
        _ write: (PayloadInfo, RawSpan) throws(CommandFailure) -> Void
    ) throws {
        var progress = ProgressBar("fetching")
        defer { progress.finish() }
        var received: UInt64 = 0
        // `validate` saw to it that there is an id.
        try connection.get(id ?? "", part: part) { info, piece in
            try write(info, piece)
            received += UInt64(piece.byteCount)
            progress.update(received, of: info.byteCount)
        }
    }

    private func checkMany(_ ids: [String], _ connection: inout BlobConnection) throws {
        let start = ContinuousClock.now
        var report = CheckReport()
        var digests: Set<PayloadDigest> = []
        var bytes: UInt64 = 0
        var progress = ProgressBar("checking") { "\(HumanText.count($0)) payloads" }
        defer { progress.finish() }
        try connection.forEach(ids) { connection, id in
            _ = try connection.queueGet(id, part: part)
        } sink: { _, piece in
            bytes += UInt64(piece.byteCount)
            return true
        } take: { id, outcome in
            switch outcome {
            case .payload(let info):
                report.right += 1
                digests.insert(info.digest)
            case .failed(let error):
                report.count(error)
                if report.wrong <= CheckReport.shownMax {
                    progress.finish()
                    StandardError.write("blobd: \(HumanText.line(id)): \(error)\n")
                }
            default:
                throw CommandFailure(.refused, "an answer to something else than a get")
            }
            progress.update(UInt64(report.right + report.wrong), of: UInt64(ids.count))
        }
        progress.finish()
        report.distinct = digests.count
        report.byteCount = bytes
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        report.seconds = (seconds * 1_000).rounded() / 1_000
        try StandardOutput.write(json ? try JSONLine.text(report) : report.text)
        if report.damaged + report.refused > 0 { throw ExitCode(ExitStatus.refused.rawValue) }
        if report.wrong > 0 { throw ExitCode(ExitStatus.notFound.rawValue) }
    }
}

/// What `get --check` prints.
private struct CheckReport: Encodable {
    /// How many failures are told one by one.
    static let shownMax = 10

    var right = 0
    var missing = 0
    var expired = 0
    var damaged = 0
    var refused = 0
    var distinct = 0
    var byteCount: UInt64 = 0
    var seconds = 0.0

    var wrong: Int { missing + expired + damaged + refused }

    mutating func count(_ error: ClientError) {
        switch error {
        case .notFound: missing += 1
        case .expired: expired += 1
        case .digestMismatch: damaged += 1
        default: refused += 1
        }
    }

    var text: String {
        var text =
            "\(HumanText.count(right)) payloads right (\(HumanText.count(distinct)) distinct), "
            + "\(HumanText.bytes(byteCount)) in \(seconds) s\n"
        let failures = [
            ("missing", missing), ("expired", expired), ("damaged", damaged), ("refused", refused),
        ]
        for (name, count) in failures where count > 0 {
            text += "\(HumanText.count(count)) \(name)\n"
        }
        return text
    }
}
