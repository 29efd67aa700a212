import BlobProtocol
import Foundation
import TestSupport
import Testing

/// A request and what it is answered: a line of a table in `Tests/Exchanges`. Two blanks or more divide its columns.
///
///     PUT /v1/notifications/n  If-Match: "1"  {"ttl":0}  → 400 bad_ttl  limit=2592000
///
/// The first column may begin with `[http]` or `[call]`, where only that dialect has the request. Then come fields, and
/// the body. Right of the arrow stand the status, with the code of a problem, and what else must hold of the answer:
///
/// | `Name: value` | the field has this value; `…` at its end is any text, and `-` alone means that there is none |
/// | `name=value` | likewise a member of the JSON object |
/// | `name>x`, `Name:>x` | the member, or the field, is called `$x` on the lines below |
/// | `~text`, `!text`, `=text` | the body contains it, does not contain it, is it |
///
/// `‹m*9›` is nine times `m`, `\xFF` a byte. A body or a text may be made: `@bytes 200000`, `@lines 9000` and
/// `@text 5000`, with the first and the end of a range where two more numbers follow, and
/// `@form {document} | name type bytes | …`. In front of any body may stand `@gzip`, `@deflate`, `@cut`, which leaves
/// the last byte out, and `@more`, which adds one.
struct Exchange {
    /// Where it stands, for messages.
    let place: String
    let dialect: TestDialect?
    let request: [String]
    let answer: [String]

    init?(_ line: String, at place: String) throws {
        guard !line.isEmpty, !line.hasPrefix("#") else { return nil }
        let halves = line.components(separatedBy: "→")
        guard halves.count == 2 else {
            throw TestFailure("\(place): there must be one → in \(line)")
        }
        func columns(_ text: String) -> [String] {
            text.components(separatedBy: "  ").map { $0.trimmingBlanks }.filter { !$0.isEmpty }
        }
        var request = columns(halves[0])
        dialect = TestDialect.allCases.first { request[0].hasPrefix("[\($0)] ") }
        if let dialect { request[0].removeFirst(dialect.rawValue.count + 3) }
        self.place = "\(place): \(line)"
        self.request = request
        answer = columns(halves[1])
    }

    /// What a table was told by the answers so far.
    typealias Variables = [String: String]

    /// A text of the table with the variables' values and what is repeated.
    private static func text(_ column: String, _ variables: Variables) -> String {
        var text = column
        for (name, value) in variables.sorted(by: { $0.key.count > $1.key.count }) {
            text = text.replacing("$\(name)", with: value)
        }
        return text.replacing(#/‹(.+?)\*(\d+)›/#) {
            String(repeating: String($0.1), count: Int($0.2) ?? 0)
        }
    }

    /// The bytes of a text of the table.
    private static func bytes(_ text: String) -> [UInt8] {
        let words = text.split(separator: " ").map(String.init)
        let numbers = words.dropFirst().compactMap { Int($0) }
        let made: [UInt8]
        func inner() -> [UInt8] { bytes(words.dropFirst().joined(separator: " ")) }
        switch words.first {
        case "@gzip": return gzipped(inner())
        case "@deflate": return deflated(inner())
        case "@cut": return inner().dropLast()
        case "@more": return inner() + [0]
        case "@bytes": made = SeededGenerator.bytes(numbers[0])
        case "@lines": made = Array((1...numbers[0]).map { "line \($0)\n" }.joined().utf8)
        case "@text": made = [UInt8](repeating: 0x41, count: numbers[0])
        case "@form":
            let pieces = text.dropFirst(6).components(separatedBy: " | ")
            return multipartBody(
                pieces[0] == "-" ? nil : pieces[0],
                files: pieces.dropFirst().map { piece in
                    let words = piece.components(separatedBy: " ")
                    return (words[0], words[1] == "-" ? nil : words[1], Array(words[2].utf8))
                })
        default: return unescaped(text)
        }
        return numbers.count == 3 ? Array(made[numbers[1]..<numbers[2]]) : made
    }

    private static func unescaped(_ text: String) -> [UInt8] {
        let pieces = text.components(separatedBy: "\\x")
        return pieces.dropFirst().reduce(Array(pieces[0].utf8)) { bytes, piece in
            bytes + [UInt8(piece.prefix(2), radix: 16) ?? 0] + Array(piece.dropFirst(2).utf8)
        }
    }

    /// The request with these variables.
    func call(_ variables: Variables) throws -> ExchangeRequest {
        let words = request[0].split(separator: " ", maxSplits: 1)
        var call = ExchangeRequest(
            method: String(words[0]), target: Self.text(String(words[1]), variables))
        for column in request.dropFirst() {
            if let field = column.wholeMatch(of: #/([A-Z][A-Za-z-]+):( .*)?/#) {
                let value = Self.text(String(field.2 ?? ""), variables)
                call.fields[String(field.1)] = String(
                    decoding: Self.unescaped(value.trimmingBlanks), as: UTF8.self)
            } else {
                guard call.body == nil else { throw TestFailure("\(place): two bodies") }
                call.body = Self.bytes(Self.text(column, variables))
                if column.hasPrefix("@form") { call.fields["Content-Type"] = multipartType }
            }
        }
        if ["PUT", "POST", "PATCH"].contains(call.method) {
            call.body = call.body ?? []
            call.fields["Content-Type"] = call.fields["Content-Type"] ?? "application/json"
            if call.fields["Content-Type"] == "-" { call.fields["Content-Type"] = nil }
        }
        return call
    }

    /// What is wrong with an answer. Notes what it is asked to.
    func faults(_ seen: HTTPAnswer, _ variables: inout Variables) -> [String] {
        var faults: [String] = []
        let code = seen.status < 400 ? nil : jsonMember(seen.text, "code")
        let status = code.map { "\(seen.status) \($0)" } ?? "\(seen.status)"
        if status != answer[0] && !(answer[0] == "2…" && seen.status / 100 == 2) {
            faults.append("it is \(status)")
        }
        for column in answer.dropFirst() {
            if let match = column.wholeMatch(of: #/([a-z_]+)>(\w+)|([A-Z][A-Za-z-]+):>(\w+)/#) {
                let value =
                    match.1.map { jsonMember(seen.text, String($0)) } ?? seen[String(match.3 ?? "")]
                variables[String(match.2 ?? match.4 ?? "")] = value
                if value == nil { faults.append("nothing for \(column)") }
            } else if let match = column.wholeMatch(of: #/([A-Z][A-Za-z-]+): (.*)/#) {
                let found = seen[String(match.1)]
                if !Self.holds(found, Self.text(String(match.2), variables)) {
                    faults.append("\(match.1) is \(found ?? "not there")")
                }
            } else if let match = column.wholeMatch(of: #/([a-z_]+)=(.*)/#) {
                let found = jsonMember(seen.text, String(match.1))
                if !Self.holds(found, Self.text(String(match.2), variables)) {
                    faults.append("\(match.1) is \(found ?? "not there")")
                }
            } else {
                let bytes = Self.bytes(Self.text(String(column.dropFirst()), variables))
                let isThere = bytes.isEmpty || seen.body.firstRange(of: bytes) != nil
                switch column.first {
                case "~" where isThere, "!" where !isThere: break
                case "=" where seen.body == bytes: break
                default: faults.append("the body is not \(column)")
                }
            }
        }
        return faults
    }

    private static func holds(_ found: String?, _ wanted: String) -> Bool {
        if wanted == "-" { return found == nil }
        guard wanted.hasSuffix("…") else { return found == wanted }
        return found?.hasPrefix(wanted.dropLast()) == true
    }
}

/// A request of a table, before it is one of a dialect.
struct ExchangeRequest {
    var method: String
    var target: String
    var fields: [String: String] = [:]
    var body: [UInt8]?

    /// The same as a frame says it. Throws where none can.
    func call() throws -> ResourceCall {
        guard let method = Call.Method.allCases.first(where: { "\($0)".uppercased() == method })
        else { throw TestFailure("\(method) cannot be called") }
        var call = ResourceCall(
            method, target, bytes: body ?? [], type: fields["Content-Type"],
            device: fields["Blobd-Device"])
        for (name, value) in fields {
            let revision = UInt64(value.filter { $0 != "\"" })
            switch (name, value, revision) {
            case ("Content-Type", _, _), ("Blobd-Device", _, _): break
            case ("If-Match", "*", _): call.condition = .exists
            case ("If-None-Match", "*", _): call.condition = .absent
            case ("If-Match", _, let revision?): call.condition = .revision(revision)
            default: throw TestFailure("\(name): \(value) cannot be called")
            }
        }
        return call
    }
}

/// Sends the lines of a table to a daemon in one dialect, and compares.
struct ExchangeRun {
    let dialect: TestDialect
    let daemon: DaemonProcess
    private let counting: RawClient
    private var http: RawClient
    private let call: ResourceClient
    private var variables: Exchange.Variables = [:]

    init(_ dialect: TestDialect, _ daemon: DaemonProcess) throws {
        self.dialect = dialect
        self.daemon = daemon
        counting = try daemon.connect()
        http = try daemon.connect()
        call = try ResourceClient(.call, daemon)
    }

    /// What a request that is refused must not move, and what may only become less meanwhile: the writer frees
    /// what earlier lines removed.
    private func counters() throws -> (fixed: [Int], falling: [Int]) {
        let answer = try counting.request("GET", "/v1/stats")
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

    /// What is wrong with the answer to a line.
    mutating func faults(_ exchange: Exchange) throws -> [String] {
        if let only = exchange.dialect, only != dialect { return [] }
        let request = try exchange.call(variables)
        let before = try counters()
        let answer = try perform(request)
        var faults = exchange.faults(answer, &variables)
        if answer.status >= 400 {
            let after = try counters()
            let isSame = after.fixed == before.fixed
            if !isSame || zip(after.falling, before.falling).contains(where: { $0 > $1 }) {
                faults.append("it changed something")
            }
        }
        return faults.map { "\(dialect), \(exchange.place)\n\($0): \(answer.text.prefix(500))" }
    }

    private mutating func perform(_ request: ExchangeRequest) throws -> HTTPAnswer {
        guard dialect == .http else {
            let reply = try call.perform(request.call())
            var fields: [String: String] = [:]
            fields["etag"] = reply.revision.map { "\"\($0)\"" }
            fields["location"] = reply.location
            return HTTPAnswer(
                status: reply.status, statusLine: "", fields: fields, body: reply.body)
        }
        let answer = try http.request(
            request.method, request.target, request.fields, body: request.body)
        if answer["Connection"] == "close" { http = try daemon.connect() }
        return answer
    }
}

/// A table of exchanges. Its first lines may say `daemon: …`, the flags, and `dialects: http call`.
struct ExchangeTable: Sendable, CustomTestStringConvertible {
    let name: String
    private static let folder = "\(Files.package)/Tests/Exchanges"

    static let all = Files.names(in: folder).map { ExchangeTable(name: $0) }
    var testDescription: String { name }

    /// Runs all lines in each of the table's dialects, with a daemon for each. Returns what is wrong.
    func run() throws -> (lineCount: Int, faults: [String]) {
        var lines = Files.text("\(Self.folder)/\(name)").split(
            separator: "\n", omittingEmptySubsequences: false
        ).map(String.init)
        func setting(_ key: String) -> [String] {
            guard let index = lines.firstIndex(where: { $0.hasPrefix("\(key): ") }) else {
                return []
            }
            let words = lines[index].split(separator: " ").dropFirst().map(String.init)
            lines[index] = ""
            return words
        }
        let arguments = setting("daemon")
        let dialects = setting("dialects").compactMap { TestDialect(rawValue: $0) }
        let exchanges = try lines.enumerated().compactMap { number, line in
            try Exchange(line, at: "\(name):\(number + 1)")
        }
        var faults: [String] = []
        for dialect in dialects {
            let daemon = try DaemonProcess(arguments)
            var run = try ExchangeRun(dialect, daemon)
            for exchange in exchanges {
                do {
                    faults += try run.faults(exchange)
                } catch {
                    throw TestFailure("\(dialect), \(exchange.place): \(error)")
                }
            }
            guard daemon.stop() == 0 else { throw TestFailure("the daemon failed: \(daemon.log)") }
        }
        return (dialects.count * exchanges.count, faults)
    }
}

extension String {
    /// Without the blanks at both ends.
    fileprivate var trimmingBlanks: String {
        var rest = drop { $0 == " " }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }
}
