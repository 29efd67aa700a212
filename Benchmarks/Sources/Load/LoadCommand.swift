import ArgumentParser
import BlobClient
import FoundationEssentials
import LoadGenerator

/// Puts load on a daemon, and prints what it measured. Started by the script `load`, which has the help.
@main
struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "Benchmarks/load")

    @Option var socket = Self.socketUsual
    @Option var timeout = 30
    @Option var size = SizesText([.fixed(1_024)])
    @Option var connections = 1
    @Option var pipeline = 1
    @Option var dialect = DialectsText([BinaryDialect()])
    @Option var reads: Int?
    @Flag var publish = false
    @Option var rate: Double?
    @Option var seconds = 5.0
    @Option var warmUp = 1.0
    @Option var seed: UInt64 = 1
    @Option var check = LoadCheck.all
    @Flag var keep = false
    @Flag var stored = false
    @Option var cpu: Int?
    @Option var serverPid: [Int32] = []
    @Flag var json = false

    /// As for blobd, but for its configuration.
    private static var socketUsual: String {
        let variable = ProcessInfo.processInfo.environment["BLOBD_SOCKET"] ?? ""
        return variable.isEmpty ? "/run/blobd/blobd.sock" : variable
    }

    func validate() throws {
        guard !socket.isEmpty else { throw ValidationError("--socket must not be empty") }
        guard (0...86_400).contains(timeout) else {
            throw ValidationError("--timeout is \(timeout); it must be 0 to 86400 seconds")
        }
        if publish, let reads, reads != 0 {
            throw ValidationError("--publish means --reads 0; --reads is \(reads)")
        }
        do {
            try options.validate()
        } catch {
            throw ValidationError(error.description)
        }
    }

    private var options: LoadOptions {
        var options = LoadOptions(socketPath: socket)
        options.connections = connections
        options.depth = pipeline
        options.seconds = seconds
        options.warmUpSeconds = warmUp
        options.readPercent = publish ? 0 : reads ?? 100
        options.rate = rate
        options.check = check
        options.seed = seed
        options.serverProcesses = serverPid
        options.core = cpu
        options.isStopped = { Interruption.signal != nil }
        return options
    }

    func run() throws {
        // The client has better error messages for a bad socket.
        _ = try connect()
        Interruption.handle()
        var report = LoadReport()
        for dialect in dialect.dialects {
            for sizes in size.sizes {
                let figures = try measure(sizes, dialect)
                if json {
                    try Terminal.print(try Self.line(figures))
                } else {
                    report.append(figures)
                }
            }
        }
        if !json { try Terminal.print(report.text()) }
    }

    /// Members in snake case and in a fixed order.
    private static func line(_ figures: LoadFigures) throws -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(figures), as: UTF8.self) + "\n"
    }

    private func measure(_ sizes: PayloadSizes, _ dialect: any LoadDialect) throws -> LoadFigures {
        let options = options
        let payloads = try LoadPayloads(sizes, seed: seed)
        let run = try LoadRun(dialect, payloads, options)
        var progress = LoadProgress("\(dialect.name), \(sizes)")
        defer {
            progress.finish()
            deleteAll(of: payloads, options)
        }
        if options.readPercent > 0, !stored {
            try run.store(
                progress: progress.isShown
                    ? { progress.update(storing: $0, of: payloads.count) } : nil)
        }
        return try run.measure(progress: progress.isShown ? { progress.update($0) } : nil)
    }

    private func connect() throws(ClientError) -> BlobConnection {
        var options = BlobConnection.Options()
        options.timeoutMilliseconds = timeout * 1_000
        return try BlobConnection.connect(to: socket, options: options)
    }
}

extension LoadCommand {
    /// Deletes what the run stored. That it cannot is no failure of the measurement.
    private func deleteAll(of payloads: LoadPayloads, _ options: LoadOptions) {
        var ids: [String] = []
        if options.readPercent > 0, !stored, !keep {
            ids += (0..<payloads.count).map { payloads.item($0).id }
        }
        if options.readPercent < 100 {
            ids += (0..<payloads.count).map { payloads.publishedItem($0).id }
        }
        guard !ids.isEmpty else { return }
        var leftCount = ids.count
        do {
            try delete(ids) { leftCount -= 1 }
        } catch {
            Terminal.note("\(error)")
        }
        guard leftCount > 0 else { return }
        Terminal.note(
            "up to \(NumberText.count(leftCount)) notifications bench-… are left, and expire within two hours"
        )
    }

    private static let deletingConnectionCount = 64

    private final class Deleting {
        var connection: BlobConnection

        init(_ connection: consuming BlobConnection) { self.connection = connection }
    }

    /// Deletes over many connections: those of one are synced one after another. Calls `isGone` for each that is no
    /// longer there.
    private func delete(_ ids: [String], isGone: () -> Void) throws {
        var connections = [Deleting(try connect())]
        // A daemon at its limit may accept fewer.
        while connections.count < min(ids.count, Self.deletingConnectionCount),
            let next = try? connect()
        {
            connections.append(Deleting(next))
        }
        for start in stride(from: 0, to: ids.count, by: connections.count) {
            let some = Array(zip(connections, ids[start...]))
            for (member, id) in some {
                _ = try member.connection.queueCall(.delete(id))
                try member.connection.flush()
            }
            for (member, _) in some {
                switch try member.connection.receive().outcome {
                // One that was never stored is not there either.
                case .failed(.notFound), .failed(.expired): isGone()
                case .failed: break
                default: isGone()
                }
            }
        }
    }
}

extension LoadCommand {
    /// The exit codes are those of blobd.
    static func main() {
        do {
            let command = try parse()
            try command.run()
        } catch let failure as LoadFailure {
            if failure.reason == .stopped, let signal = Interruption.signal {
                end("interrupted; no figures", 128 + signal)
            }
            let codes: [LoadFailure.Reason: Int32] = [.options: 2, .noServer: 4]
            end(failure.description, codes[failure.reason] ?? 1)
        } catch let error as ClientError {
            switch error {
            case .noDaemon: end("\(error)\nAnother socket: --socket PATH, or BLOBD_SOCKET", 4)
            case .invalid, .badSocketPath: end("\(error)", 2)
            default: end("\(error)", 1)
            }
        } catch {
            let text = fullMessage(for: error)
            if exitCode(for: error).isSuccess {
                print(text)
            } else {
                end(String(text.trimmingPrefix("Error: ")), 2)
            }
        }
    }

    private static func end(_ text: String, _ code: Int32) -> Never {
        Terminal.note(text)
        Self.exit(withError: ExitCode(code))
    }
}
