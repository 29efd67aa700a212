import BlobJSON
import BlobProtocol
import Bytes
import Foundation
import TestSupport

/// A request and what it is answered: a line of a table in `Tests/Exchanges`. Two blanks or more divide its columns.
///
///     PUT /v1/notifications/n  If-Match: "1"  {"ttl":0}  → 400 bad_ttl  limit=2592000
///
/// In front may stand, in brackets: `http` or `call`, where only that dialect has the request; the name of a connection,
/// where it is not the usual one, to the device socket if it begins with `device`;
/// a number, of times that it is sent, each with its own `‹#›`; `until`, where it is asked
/// again until the answer is so; `bytewise`. The method may be `FOLLOW`, a stream of events or a watch, and `RAW`, whose
/// columns are sent as they are, `⏎` for the end of a line. Then come fields, and the body. A line without an answer sends
/// and does not wait; one without a request takes the connection's next answer.
///
/// Right of the arrow stand the status, with the code of a problem, or `told published 1`, and what else must hold:
///
/// | `Name: value` | the field has this value; `…` at its end is any text, and `-` alone means that there is none |
/// | `name=value` | likewise a member of the JSON object |
/// | `name<9` | the member is a number less than this one |
/// | `lives: 60000` | from `created_at` to `expires_at` so many milliseconds go by |
/// | `name>x`, `Name:>x` | the member, or the field, is called `$x` on the lines below |
/// | `changes: published 1, left 2`, `ids: 2 1` | all changes of the page, all elements of the list; `-`: none |
/// | `~text`, `!text`, `=text` | the body contains it, does not contain it, is it, where `…` is any text |
///
/// `‹m*9›` is nine times `m`, each with its number in the place of `##`; `\xFF` is a byte. A body or a text may be made: `@bytes 200000`, `@lines 9000` and
/// `@text 5000`, with the first and the end of a range where two more numbers follow, and
/// `@form {document} | name type bytes | -name type bytes | …`, with a file and a field that is none. In front of any body may stand `@gzip`, `@deflate`, `@cut`, which leaves
/// the last byte out, and `@more`, which adds one.
///
/// A line that begins with `@` is a step of ``ExchangeRun/perform(_:)``.
struct Exchange {
    /// Where it stands, for messages.
    let place: String
    let dialect: TestDialect?
    private(set) var connection = ""
    private(set) var count = 1
    private(set) var isRepeated = false
    private(set) var isBytewise = false
    let request: [String]
    let answer: [String]

    init?(_ line: String, at place: String) throws {
        guard !line.isEmpty, !line.hasPrefix("#") else { return nil }
        self.place = "\(place): \(line)"
        guard !line.hasPrefix("@") else {
            (request, answer, dialect) = ([line], [], nil)
            return
        }
        var rest = Substring(line)
        var only: TestDialect?
        if let match = line.prefixMatch(of: Pattern.bracket) {
            rest = line[match.range.upperBound...]
            for word in match.1.split(separator: " ").map(String.init) {
                switch word {
                case "until": isRepeated = true
                case "bytewise": isBytewise = true
                default:
                    if let dialect = TestDialect(rawValue: word) {
                        only = dialect
                    } else if let number = Int(word) {
                        count = number
                    } else {
                        connection = word
                    }
                }
            }
        }
        dialect = only
        let halves = String(rest).components(separatedBy: "→")
        guard halves.count == 2 else {
            throw TestFailure("\(place): there must be one → in \(line)")
        }
        func columns(_ text: String) -> [String] {
            text.components(separatedBy: "  ").map { $0.trimmingBlanks }.filter { !$0.isEmpty }
        }
        request = columns(halves[0])
        answer = columns(halves[1])
        try check()
    }

    /// A mistake in the table must not pass for something that holds.
    private func check() throws {
        if let status = answer.first, status.wholeMatch(of: Pattern.status) == nil {
            throw TestFailure("\(place): \(status) is no status")
        }
        for column in answer.dropFirst() where !Pattern.isOne(column) {
            throw TestFailure("\(place): the column \(column) is no pattern")
        }
        for text in request.dropFirst() + answer.dropFirst().map({ String($0.dropFirst()) })
        where text.hasPrefix("@") && !Self.makers.contains(String(text.prefix { $0 != " " })) {
            throw TestFailure("\(place): nothing is made by \(text)")
        }
    }

    private static let makers: Set = [
        "@gzip", "@deflate", "@cut", "@more", "@bytes", "@lines", "@text", "@form",
    ]

    /// Whether it is no request, but a step of the run.
    var isStep: Bool { request.first?.hasPrefix("@") == true }

    /// Whether nothing may come of the request.
    var isRefused: Bool { answer.first.map { $0.hasPrefix("4") || $0.hasPrefix("5") } ?? false }

    /// What a table was told by the answers so far.
    typealias Variables = [String: String]

    /// Compiled once: a literal in a function is compiled by each call.
    private enum Pattern {
        nonisolated(unsafe) static let bracket = #/\[([^\]]+)\]/#
        nonisolated(unsafe) static let status = #/\d{3}( [a-z0-9_]+)?|2…|told .+/#
        nonisolated(unsafe) static let repeated = #/‹(.+?)\*(\d+)›/#
        nonisolated(unsafe) static let sentField = #/([A-Z][A-Za-z-]+):( .*)?/#
        nonisolated(unsafe) static let variable = #/([a-z_]+)>(\w+)|([A-Z][A-Za-z-]+):>(\w+)/#
        nonisolated(unsafe) static let list = #/(changes|ids): (.*)/#
        nonisolated(unsafe) static let field = #/([A-Z][A-Za-z-]+): (.*)/#
        nonisolated(unsafe) static let life = #/lives: (\d+)/#
        nonisolated(unsafe) static let less = #/([a-z_]+)<(\d+)/#
        nonisolated(unsafe) static let member = #/([a-z_]+)=(.*)/#
        nonisolated(unsafe) static let body = #/[~!=].*/#

        /// Whether an answer's column is one of the patterns: what is none would be compared with nothing.
        static func isOne(_ column: String) -> Bool {
            column.wholeMatch(of: variable) != nil || column.wholeMatch(of: list) != nil
                || column.wholeMatch(of: field) != nil || column.wholeMatch(of: life) != nil
                || column.wholeMatch(of: less) != nil || column.wholeMatch(of: member) != nil
                || column.wholeMatch(of: body) != nil
        }
    }

    /// A text of the table with the variables' values and what is repeated.
    static func text(_ column: String, _ variables: Variables) -> String {
        var text = column.replacing("‹#›", with: variables["#"] ?? "")
        if text.contains("$") {
            for (name, value) in variables.sorted(by: { $0.key.count > $1.key.count }) {
                text = text.replacing("$\(name)", with: value)
            }
        }
        guard text.contains("‹") else { return text }
        return text.replacing(Pattern.repeated) { match in
            let (piece, count) = (String(match.1), Int(match.2) ?? 0)
            guard piece.contains("##") else { return String(repeating: piece, count: count) }
            return (0..<count).map { piece.replacing("##", with: "\($0)") }.joined()
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
                    let bytes = words.count > 2 ? words[2] : ""
                    return (words[0], words[1] == "-" ? nil : words[1], Array(bytes.utf8))
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
    func call(_ variables: Variables) throws -> TestRequest {
        let words = request[0].split(separator: " ", maxSplits: 1)
        guard words[0] != "RAW" else {
            let columns = [String(words[1])] + request.dropFirst()
            let bytes = columns.flatMap {
                Self.bytes(Self.text($0, variables).replacing("⏎", with: "\r\n"))
            }
            return TestRequest("RAW", "", body: bytes)
        }
        var call = TestRequest(String(words[0]), Self.text(String(words[1]), variables))
        for column in request.dropFirst() {
            if let field = column.wholeMatch(of: Pattern.sentField) {
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
        let status =
            seen.status == 0
            ? seen.statusLine : code.map { "\(seen.status) \($0)" } ?? "\(seen.status)"
        if status != Self.text(answer[0], variables)
            && !(answer[0] == "2…" && seen.status / 100 == 2)
        {
            faults.append("it is \(status)")
        }
        for column in answer.dropFirst() {
            if let match = column.wholeMatch(of: Pattern.variable) {
                let value =
                    match.1.map { jsonMember(seen.text, String($0)) } ?? seen[String(match.3 ?? "")]
                variables[String(match.2 ?? match.4 ?? "")] = value
                if value == nil { faults.append("nothing for \(column)") }
            } else if let match = column.wholeMatch(of: Pattern.list) {
                let found = match.1 == "ids" ? Self.ids(seen.body) : Self.changes(seen.body)
                let wanted = Self.text(String(match.2), variables)
                if found != (wanted == "-" ? "" : wanted) {
                    faults.append("\(match.1) are \(found ?? "not there")")
                }
            } else if let match = column.wholeMatch(of: Pattern.field) {
                let found = seen[String(match.1)]
                if !Self.holds(found, Self.text(String(match.2), variables)) {
                    faults.append("\(match.1) is \(found ?? "not there")")
                }
            } else if let match = column.wholeMatch(of: Pattern.life) {
                if Self.life(seen) != Int64(match.1) { faults.append("it is not \(column)") }
            } else if let match = column.wholeMatch(of: Pattern.less) {
                let found = jsonMember(seen.text, String(match.1)).flatMap { Int($0) }
                if found ?? .max >= Int(match.2) ?? 0 { faults.append("it is not \(column)") }
            } else if let match = column.wholeMatch(of: Pattern.member) {
                let found = jsonMember(seen.text, String(match.1))
                if !Self.holds(found, Self.text(String(match.2), variables)) {
                    faults.append("\(match.1) is \(found ?? "not there")")
                }
            } else if column.hasPrefix("="), column.contains("…") {
                let wanted = String(
                    decoding: Self.unescaped(Self.text(String(column.dropFirst()), variables)),
                    as: UTF8.self)
                if !Session.matches(seen.text, [wanted]) {
                    faults.append("the body is not \(column)")
                }
            } else {
                let bytes = Self.bytes(Self.text(String(column.dropFirst()), variables))
                let isSo =
                    column.hasPrefix("=")
                    ? seen.body == bytes
                    : (seen.body.firstRange(of: bytes) != nil) == column.hasPrefix("~")
                if !isSo { faults.append("the body is not \(column)") }
            }
        }
        return faults
    }

    /// `expires_at − created_at`, in milliseconds.
    private static func life(_ record: HTTPAnswer) -> Int64? {
        let moments = ["created_at", "expires_at"].compactMap { name in
            record.member(name).flatMap { try? RFC3339.parse(Array($0.utf8).span.bytes) }
        }
        return moments.count == 2 ? moments[1] - moments[0] : nil
    }

    /// The words of a page's changes.
    private static func changes(_ body: [UInt8]) -> String? {
        (try? SeenPage(body))?.words.joined(separator: ", ")
    }

    /// The names of a list's elements.
    private static func ids(_ body: [UInt8]) -> String? {
        guard let page = try? SeenPage.document(body) else { return nil }
        for name in ["notifications", "deleted", "categories"] {
            guard case .array(let elements)? = page[name] else { continue }
            return elements.compactMap { ($0["id"] ?? $0["name"])?.text }.joined(separator: " ")
        }
        return nil
    }

    private static func holds(_ found: String?, _ wanted: String) -> Bool {
        if wanted == "-" { return found == nil }
        guard wanted.hasSuffix("…") else { return found == wanted }
        return found?.hasPrefix(wanted.dropLast()) == true
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
