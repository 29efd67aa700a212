import Glibc
import TestSupport
import Testing

/// Sends the lines of a table to a daemon in one dialect, and compares.
struct ExchangeRun {
    let dialect: TestDialect
    private var daemon: DaemonProcess
    private var flags: [String]
    private var connections: [String: TestConnection] = [:]
    /// The names of connections that the daemon has closed after an answer.
    private var ended: Set<String> = []
    private var variables: Exchange.Variables = [:]
    /// The documents that were answered, by their lines, without what depends on the clock and the store.
    private(set) var documents: [String: String] = [:]

    init(_ dialect: TestDialect, _ flags: [String]) throws {
        self.dialect = dialect
        self.flags = flags
        daemon = try Self.start(flags)
    }

    /// - Parameter flags: the daemon's, behind `nofile=128` where it may have so many descriptors. `devices`: with a
    ///   device socket, and ``DeviceKeys``.
    private static func start(
        _ flags: [String], in folder: TemporaryFolder? = nil
    ) throws -> DaemonProcess {
        let limits = flags.filter { $0.hasPrefix("nofile=") }
        let shell = limits.map { "ulimit -n \($0.dropFirst(7));" }.joined()
        let folder = folder ?? TemporaryFolder()
        let rest = try flags.filter { !limits.contains($0) }.flatMap {
            $0 == "devices" ? try DeviceKeys.flags(in: folder) : [$0]
        }
        return try DaemonProcess(rest, in: folder, shell: shell)
    }

    /// The connections of a name, or of those that begin with what stands before `*`.
    private func named(_ name: String) -> [String] {
        name.hasSuffix("*")
            ? connections.keys.filter { $0.hasPrefix(name.dropLast()) } : [name]
    }

    /// What a request that is refused must not move, and what may only become less meanwhile: the writer frees
    /// what earlier lines removed.
    private func counters() throws -> (fixed: [Int], falling: [Int]) {
        let answer = try daemon.request("GET", "/v1/stats")
        func numbers(_ names: String...) throws -> [Int] {
            try names.map { name in
                guard let number = answer.member(name).flatMap({ Int($0) }) else {
                    throw TestFailure("no \(name) in \(answer.text)")
                }
                return number
            }
        }
        return (
            try numbers(
                "notifications", "parts", "revision", "tombstones", "held_blobs", "categories"),
            try numbers("blobs", "bytes", "orphan_blobs")
        )
    }

    /// What is wrong with what comes of a line.
    mutating func faults(_ exchange: Exchange) throws -> [String] {
        if let only = exchange.dialect, only != dialect { return [] }
        guard !exchange.isStep else {
            try perform(exchange.request[0])
            return []
        }
        for number in 0..<exchange.count {
            variables["#"] = "\(number)"
            let patience = Patience()
            var faults = exchange.isRepeated ? askAgain(exchange) : try ask(exchange)
            while exchange.isRepeated, !faults.isEmpty {
                try patience.wait(orThrow: "\(faults)")
                faults = askAgain(exchange)
            }
            if !faults.isEmpty { return faults.map { "\(dialect), \(exchange.place)\n\($0)" } }
        }
        return []
    }

    /// Asks over another connection where the one that there is has ended.
    private mutating func askAgain(_ exchange: Exchange) -> [String] {
        do {
            return try ask(exchange)
        } catch {
            connections[Exchange.text(exchange.connection, variables)] = nil
            return ["\(error)"]
        }
    }

    private mutating func ask(_ exchange: Exchange) throws -> [String] {
        let name = Exchange.text(exchange.connection, variables)
        let connection =
            try connections[name]
            ?? (name.hasPrefix("device")
                ? TestConnection(device: daemon) : TestConnection(dialect, daemon))
        connections[name] = connection
        let before = exchange.isRefused && !exchange.request.isEmpty ? try counters() : nil
        if !exchange.request.isEmpty {
            try connection.send(try exchange.call(variables), isBytewise: exchange.isBytewise)
        }
        guard !exchange.answer.isEmpty else { return [] }
        let answer = try connection.answer()
        var faults = exchange.faults(answer, &variables)
        if let before {
            let after = try counters()
            let isSame = after.fixed == before.fixed
            if !isSame || zip(after.falling, before.falling).contains(where: { $0 > $1 }) {
                faults.append("it changed something")
            }
        }
        if connection.isOver {
            connections[name] = nil
            ended.insert(name)
            // A stream of events that is not followed continues, and so may a frame's connection.
            let isToEnd = answer["Connection"] == "close" && answer["Content-Length"] != nil
            if try isToEnd && !connection.raw.isClosed() {
                faults.append("the connection is not closed")
            }
        }
        if exchange.dialect == nil, answer.status < 400, answer.body.first == UInt8(ascii: "{") {
            documents[exchange.place] = answer.text.replacing(Self.changing) {
                "\"\($0.1)\":…"
            }
        }
        return faults.map { "\($0): \(answer.text.prefix(500))" }
    }

    /// Times and cursors.
    private nonisolated(unsafe) static let changing =
        #/"(created_at|expires_at|expired_at|at|held_until|remembered_until|cursor|next)":"[^"]*"/#

    /// Performs a step of a table:
    ///
    /// | `@daemon FLAGS` | another daemon with an empty store |
    /// | `@restart FLAGS`, `@kill FLAGS` | stops it, or kills it, and starts it again |
    /// | `@stop` | stops it; its connections can still be read |
    /// | `@signal HUP`, `@gone`, `@ended 0` | sends it a signal; waits until its socket has gone, or for its exit code |
    /// | `@start FLAGS` | starts it again after its end |
    /// | `@until watchers 2` | waits until a statistic has this value, or `>0`, more than that |
    /// | `@log words` | waits until its log says so |
    /// | `@open a`, `@close a`, `@end a` | makes a connection, closes it, or ends sending on it; `a*`: on all so called |
    /// | `@closed a` | the daemon has closed the connection, without another byte |
    /// | `@link a /d/42 now+60` | `$a` is a link to this path that expires then |
    /// | `@token a {"sub":"ann",…}` | `$a` is a token with these claims |
    private mutating func perform(_ line: String) throws {
        let words = line.split(separator: " ").map(String.init)
        let name = words.count > 1 ? words[1] : ""
        switch words[0] {
        case "@daemon", "@restart", "@kill":
            let folder = words[0] == "@daemon" ? nil : daemon.folder
            connections = [:]
            if words[0] == "@kill" { daemon.signal(SIGKILL) }
            let end = words[0] == "@kill" ? daemon.wait() : daemon.stop()
            try require(end == (words[0] == "@kill" ? 137 : 0), "exit code \(end): \(daemon.log)")
            if words.count > 1 || folder == nil { flags = Array(words.dropFirst()) }
            daemon = try Self.start(flags, in: folder)
        case "@start":
            flags = Array(words.dropFirst())
            (connections, daemon) = ([:], try Self.start(flags, in: daemon.folder))
        case "@gone": try daemon.wait(for: "the socket stays") { !Files.exists($0.socketPath) }
        case "@ended":
            let code = daemon.wait()
            try require("\(code)" == name, "exit code \(code): \(daemon.log)")
        case "@stop": try require(daemon.stop() == 0, "it does not stop: \(daemon.log)")
        case "@signal":
            let numbers = [
                "HUP": SIGHUP, "STOP": SIGSTOP, "CONT": SIGCONT, "TERM": SIGTERM, "INT": SIGINT,
            ]
            guard let number = numbers[name] else { throw TestFailure("no signal is \(name)") }
            daemon.signal(number)
        case "@until":
            guard words.count == 3, let number = Int(words[2].drop { $0 == ">" }) else {
                throw TestFailure("no number is in \(line)")
            }
            let isMore = words[2].hasPrefix(">")
            try daemon.waitUntil(name) { isMore ? $0 > number : $0 == number }
        case "@log":
            let text = Exchange.text(String(line.dropFirst(5)), variables)
            try daemon.wait(for: "no \"\(text)\"") { $0.log.contains(text) }
        case "@open": connections[name] = try TestConnection(dialect, daemon)
        case "@close": for name in named(name) { connections[name] = nil }
        case "@end": for name in named(name) { connections[name]?.raw.endSending() }
        case "@closed":
            let isClosed = try connections[name]?.raw.isClosed() ?? ended.contains(name)
            try require(isClosed, "\(name) is not closed")
            connections[name] = nil
        case "@link":
            let expiry = Int64(DeviceKeys.withTimes(words[3])) ?? 0
            variables[name] = DeviceKeys.link(words[2], expiresAt: expiry)
        case "@token":
            let claims = words.dropFirst(2).joined(separator: " ")
            variables[name] = DeviceKeys.token(DeviceKeys.withTimes(claims))
        default: throw TestFailure("no step is \(line)")
        }
    }

    /// The daemon ends as it should.
    func end() throws { try require(daemon.stop() == 0, "the daemon failed: \(daemon.log)") }
}

/// A table of exchanges. Its first lines may say `daemon: …`, the flags, and `dialects: http call`.
struct ExchangeTable: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    private static let folder = "\(Files.package)/Tests/Exchanges"

    static let all = Files.names(in: folder).map {
        ExchangeTable(name: $0, text: Files.text("\(folder)/\($0)"))
    }
    var testDescription: String { name }

    /// Runs all lines in each of the table's dialects, with a daemon for each. Returns their number. What both dialects
    /// are asked, both answer alike. A fault is reported when it is seen: a later line may wait for what the fault
    /// prevents, and then end the run.
    func run(_ report: (String) -> Void) throws -> Int {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        func setting(_ key: String) -> [String] {
            guard let index = lines.firstIndex(where: { $0.hasPrefix("\(key): ") }) else {
                return []
            }
            let words = lines[index].split(separator: " ").dropFirst().map(String.init)
            lines[index] = ""
            return words
        }
        let arguments = setting("daemon")
        let dialects = try setting("dialects").map { word in
            guard let dialect = TestDialect(rawValue: word) else {
                throw TestFailure("\(name): no dialect is \(word)")
            }
            return dialect
        }
        let exchanges = try lines.enumerated().compactMap { number, line in
            try Exchange(line, at: "\(name):\(number + 1)")
        }
        var runs: [ExchangeRun] = []
        for dialect in dialects {
            var run = try ExchangeRun(dialect, arguments)
            for exchange in exchanges {
                do {
                    for fault in try run.faults(exchange) { report(fault) }
                } catch {
                    throw TestFailure("\(dialect), \(exchange.place): \(error)")
                }
            }
            try run.end()
            runs.append(run)
        }
        for (place, document) in runs.first?.documents ?? [:] {
            for run in runs.dropFirst() where run.documents[place] != document {
                report("\(place)\n\(document)\n\(run.documents[place] ?? "nothing")")
            }
        }
        return dialects.count * exchanges.count
    }
}
