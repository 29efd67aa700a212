import ArgumentParser
import BlobClient
import BlobStore

struct GetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Fetch a payload.",
        usage: """
            blobd get <id> [--part <name>] [-o <file>]
            blobd get --ids-from <list> --check [--json]
            """,
        discussion: """
            The bytes are verified against their SHA-256. With -o, the file appears only if they are \
            correct; with standard output, check the exit code.

              blobd get 42 -o photo.jpg
              blobd get 42 --part sound | aplay
              blobd get --ids-from ids.txt --check    # fetch and verify all, keep none
            """)

    @Argument(help: .named("id", "The notification's id."))
    var id: String?

    @Option(help: .named("name", "The part's name. Default: payload."))
    var part: String?

    @Option(
        name: .shortAndLong, help: .named("file", "The output file. Default: standard output."),
        completion: .file())
    var output: String?

    @Option(
        help: .named("list", "Fetch every id in this file, one per line."), completion: .file())
    var idsFrom: String?

    @Flag(help: "With --ids-from: verify every payload and print a summary.")
    var check = false

    @Flag(help: "With --check: print the summary as JSON.")
    var json = false

    @Option(
        help: .named("dir", "Read the store in this directory directly."), completion: .directory)
    var data: String?

    @OptionGroup var socket: SocketOptions

    func validate() throws {
        if idsFrom != nil {
            try require(
                id == nil && output == nil && check,
                "--ids-from needs --check, and cannot be used with an id or -o")
        } else {
            try require(id != nil, "Missing expected argument '<id>'")
            try require(!check && !json, "--check and --json need --ids-from")
        }
    }

    func run() throws {
        // Read first, so that an invalid list is found before connecting.
        let ids = try idsFrom.map { try IDList.read($0) }
        if let data {
            let store = try LocalStore.open(data)
            if let ids { return try checkMany(ids, in: store) }
            return try write { output throws in
                // `validate` requires an id.
                let found = try LocalStore.payload(store, id ?? "", part: part)
                try output(found.mediaType, found.bytes.span.bytes)
            }
        }
        if let ids {
            return try checkMany(ids, try ConnectionPool(try socket.connect(), count: 1, socket))
        }
        var connection = try socket.connect()
        var progress = ProgressBar("fetching")
        defer { progress.finish() }
        var received: UInt64 = 0
        try write { output throws in
            _ = try naming(id ?? "", part: part) {
                try connection.get(id ?? "", part: part) { info, piece in
                    try output(info.mediaType, piece)
                    received += UInt64(piece.byteCount)
                    progress.update(received, of: info.byteCount)
                }
            }
        }
    }

    /// The file of `-o` appears when `fetch` has returned.
    private func write(
        _ fetch: (_ output: (String, RawSpan) throws -> Void) throws -> Void
    ) throws {
        if let output {
            let file = try NewFile(output)
            try fetch { _, piece in try file.write(piece) }
            try file.keep()
            return
        }
        let isTerminal = StandardOutput.isTerminal
        try fetch { mediaType, piece in
            guard !isTerminal || MediaTypes.isText(mediaType) else {
                throw CommandFailure(
                    .badUsage,
                    "\(mediaType) is binary and standard output is a terminal; use -o FILE")
            }
            try StandardOutput.write(piece)
        }
    }

    private func checkMany(_ ids: [String], in store: BlobStore) throws {
        var report = CheckReport()
        for id in ids {
            do {
                let found = try LocalStore.payload(store, id, part: part)
                report.byteCount += UInt64(found.bytes.count)
                let digest = PayloadDigest(of: found.bytes.span.bytes)
                if "\(digest)" == found.digest {
                    report.digests.insert(digest)
                    report.right += 1
                } else {
                    report.damaged += 1
                }
            } catch let failure as CommandFailure {
                if failure.status == .notFound { report.missing += 1 } else { report.damaged += 1 }
                report.report(id, failure.message)
            }
        }
        try report.finish(asJSON: json)
    }

    private func checkMany(_ ids: [String], _ pool: ConnectionPool) throws {
        var report = CheckReport()
        var bytes: UInt64 = 0
        var progress = ProgressBar("checking") { "\(HumanText.count($0)) payloads" }
        defer { progress.finish() }
        try pool.forEach(ids) { connection, id in
            _ = try connection.queueGet(id, part: part)
        } sink: { _, piece in
            bytes += UInt64(piece.byteCount)
            return true
        } take: { id, outcome in
            switch outcome {
            case .payload(let info):
                report.right += 1
                report.digests.insert(info.digest)
            case .failed(let error):
                report.count(error)
                progress.finish()
                report.report(id, "\(error)")
            default:
                throw CommandFailure(.refused, "unexpected answer to a get")
            }
            progress.update(UInt64(report.right + report.wrong), of: UInt64(ids.count))
        }
        progress.finish()
        report.byteCount = bytes
        try report.finish(asJSON: json)
    }
}

private struct CheckReport {
    static let shownMax = 10

    var right = 0
    var missing = 0
    var expired = 0
    var damaged = 0
    var refused = 0
    var digests: Set<PayloadDigest> = []
    var byteCount: UInt64 = 0

    private let watch = Stopwatch()

    var wrong: Int { missing + expired + damaged + refused }

    mutating func count(_ error: ClientError) {
        switch error {
        case .notFound: missing += 1
        case .expired: expired += 1
        case .digestMismatch: damaged += 1
        default: refused += 1
        }
    }

    func report(_ id: String, _ why: String) {
        guard wrong <= Self.shownMax else { return }
        StandardError.write("blobd: \(HumanText.line(id)): \(why)\n")
    }

    func finish(asJSON: Bool) throws {
        let seconds = watch.seconds
        try StandardOutput.write(
            asJSON
                ? try JSONLine.object([
                    "right": right, "missing": missing, "expired": expired, "damaged": damaged,
                    "refused": refused, "distinct": digests.count, "byte_count": byteCount,
                    "seconds": seconds,
                ]) : text(seconds: seconds))
        if damaged + refused > 0 { throw ExitCode(ExitStatus.refused.rawValue) }
        if wrong > 0 { throw ExitCode(ExitStatus.notFound.rawValue) }
    }

    private func text(seconds: Double) -> String {
        var text =
            "\(HumanText.count(right)) payloads right (\(HumanText.count(digests.count)) distinct), "
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
