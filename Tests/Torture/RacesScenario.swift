import ArgumentParser
import BlobClient
import FoundationEssentials
import TestSupport

/// Lets several connections change the same thing at once under the same condition, which only the
/// first of them can meet.
struct RacesScenario: Scenario {
    static let configuration = CommandConfiguration(
        commandName: "races",
        abstract: "Several clients, one condition: does exactly one of them win?",
        discussion: """
            Conditions on payloads, named parts, whole records and deletes. Each race has a \
            notification of its own. Two to four connections hold back the last byte of their \
            requests and then send it together. Exactly one of them may be answered with success, \
            and all others with 412. It prints how often nobody, one and more than one won.
            """)

    @OptionGroup var options: ScenarioOptions

    @Option(help: "Races of each kind. With --short: 40.")
    var rounds: Int?

    var secondsMax: UInt32 { 600 }

    func torture(_ bench: inout Workbench) throws -> [String] {
        let rounds = rounds ?? (options.short ? 40 : 500)
        var daemon = try DaemonUnderTest.serving(bench)
        var connections: [RaceConnection] = []
        for _ in 0..<4 { connections.append(try RaceConnection(daemon.socket)) }
        var wrong: [String] = []
        var raceCount = 0
        for kind in RaceKind.allCases {
            var tally = Tally()
            for round in 0..<rounds {
                let count = Int.random(in: 2...connections.count, using: &bench.generator)
                let race = Race(kind: kind, id: "\(kind)-\(round)", contenderCount: count)
                tally.note(try race.run(connections.prefix(count)), of: count)
                raceCount += 1
            }
            say("\(kind.words): \(tally)")
            if !tally.isRight { wrong.append("\(kind.words): \(tally)") }
        }
        try daemon.stop()
        try verify(bench, "after the races")
        try require(wrong.isEmpty, wrong.joined(separator: "; "))
        return ["\(raceCount) races of \(RaceKind.allCases.count) kinds", "one winner each"]
    }
}

/// How often nobody, one and more than one won.
private struct Tally: CustomStringConvertible {
    private var nobody = 0
    private var one = 0
    private var more = 0
    /// Races in which somebody lost with another answer than 412, or what is stored is not the
    /// winner's.
    private var others: [String] = []

    mutating func note(_ outcome: Race.Outcome, of contenderCount: Int) {
        switch outcome.winnerCount {
        case 0: nobody += 1
        case 1: one += 1
        default: more += 1
        }
        if let fault = outcome.fault, others.count < 3 { others.append(fault) }
    }

    var isRight: Bool { nobody == 0 && more == 0 && others.isEmpty }

    var description: String {
        let faults = others.isEmpty ? "" : " (\(others.joined(separator: ", ")))"
        return "nobody won \(nobody), one \(one), more \(more)\(faults)"
    }
}

/// What is raced for.
private enum RaceKind: String, CaseIterable, CustomStringConvertible {
    case payloadNew, payloadReplaced, payloadOfGzip, payloadExcluded, partNew, partReplaced
    case recordNew, recordReplaced, recordPatched
    case deletedByRevision, deletedByDigest, deletedOrReplaced, deletedUnnamed

    var description: String { rawValue }

    var words: String {
        switch self {
        case .payloadNew: "PUT payload, If-None-Match: *"
        case .payloadReplaced: "PUT payload, If-Match: digest"
        case .payloadOfGzip: "PUT payload, If-Match: digest-gzip"
        case .payloadExcluded: "PUT payload, If-None-Match: digests of all that race"
        case .partNew: "PUT part, If-None-Match: *"
        case .partReplaced: "PUT part, If-Match: digest"
        case .recordNew: "PUT record, If-None-Match: *"
        case .recordReplaced: "PUT record, If-Match: revision"
        case .recordPatched: "PATCH record, If-Match: revision"
        case .deletedByRevision: "DELETE, If-Match: revision"
        case .deletedByDigest: "DELETE, If-Match: digest"
        case .deletedOrReplaced: "DELETE and PUT payload, If-Match: digest"
        case .deletedUnnamed: "DELETE, If-Match: digest, while another payload takes its place"
        }
    }
}

/// One race: a notification, and what each contender sends.
private struct Race {
    /// What came of it.
    struct Outcome {
        var winnerCount: Int
        var fault: String?
    }

    let kind: RaceKind
    let id: String
    let contenderCount: Int

    private var target: String { "/v1/notifications/\(id)" }
    private static let before = Array("what was there before".utf8)

    private static func body(_ number: Int) -> [UInt8] { Array("what \(number) sends".utf8) }

    private static func tag(_ bytes: [UInt8], _ suffix: String = "") -> String {
        "\"\(PayloadDigest(of: bytes.span.bytes))\(suffix)\""
    }

    func run(_ connections: ArraySlice<RaceConnection>) throws -> Outcome {
        let revision = try prepare(connections[0])
        let requests = (0..<contenderCount).map { request($0, revision) }
        // All but the last byte, then the last byte of all.
        for (connection, request) in zip(connections, requests) {
            try connection.send(request.dropLast())
        }
        for (connection, request) in zip(connections, requests) {
            try connection.send(request.suffix(1))
        }
        var statuses: [Int] = []
        for connection in connections { statuses.append(try connection.answer().status) }
        guard kind != .deletedUnnamed else { return try judgeUnnamed(statuses, connections[0]) }
        let winners = statuses.indices.filter { statuses[$0] < 300 }
        var outcome = Outcome(winnerCount: winners.count)
        if let status = statuses.first(where: { $0 >= 300 && $0 != 412 }) {
            outcome.fault = "\(id): a loser got \(status)"
        } else if winners.count == 1, let winner = winners.first {
            outcome.fault = try findFault(of: winner, connections[0])
        }
        return outcome
    }

    /// Makes what is raced for. Returns its revision.
    private func prepare(_ connection: RaceConnection) throws -> String {
        switch kind {
        case .payloadNew, .recordNew: return ""
        case .partNew, .recordReplaced, .recordPatched, .deletedByRevision:
            try connection.send(
                HTTPClient.request(
                    "PUT", target, ["Content-Type: application/json"],
                    Array(#"{"message":"Hello"}"#.utf8)))
            return try connection.answer().entityTag
        case .partReplaced:
            try connection.send(
                HTTPClient.request("PUT", "\(target)/parts/sound", [], Self.before))
        default:
            try connection.send(
                HTTPClient.request(
                    "PUT", "\(target)/payload", ["Content-Type: text/plain"], Self.before))
        }
        return try connection.answer().entityTag
    }

    private func request(_ number: Int, _ revision: String) -> [UInt8] {
        let body = Self.body(number)
        let document = Array(#"{"message":"\#(number)"}"#.utf8)
        func put(_ path: String, _ field: String) -> [UInt8] {
            HTTPClient.request("PUT", target + path, [field], body)
        }
        func delete(_ field: String) -> [UInt8] {
            HTTPClient.request("DELETE", target, [field], nil)
        }
        let digest = Self.tag(Self.before)
        switch kind {
        case .payloadNew: return put("/payload", "If-None-Match: *")
        case .payloadReplaced: return put("/payload", "If-Match: \"x\", \(digest)")
        case .payloadOfGzip: return put("/payload", "If-Match: \(Self.tag(Self.before, "-gzip"))")
        case .payloadExcluded:
            let all = (0..<contenderCount).map { "W/\(Self.tag(Self.body($0)))" }
            return put("/payload", "If-None-Match: \(all.joined(separator: ", "))")
        case .partNew: return put("/parts/sound", "If-None-Match: *")
        case .partReplaced: return put("/parts/sound", "If-Match: \(digest)")
        case .recordNew, .recordReplaced:
            let field = kind == .recordNew ? "If-None-Match: *" : "If-Match: \(revision)"
            return HTTPClient.request(
                "PUT", target, ["Content-Type: application/json", field], document)
        case .recordPatched:
            return HTTPClient.request(
                "PATCH", target, ["Content-Type: application/json", "If-Match: \(revision)"],
                document)
        case .deletedByRevision: return delete("If-Match: \(revision)")
        case .deletedByDigest: return delete("If-Match: \(digest)")
        case .deletedOrReplaced:
            return number == 0
                ? delete("If-Match: \(digest)") : put("/payload", "If-Match: \(digest)")
        case .deletedUnnamed:
            return number == 0
                ? put("/payload", "Content-Type: text/plain") : delete("If-Match: \(digest)")
        }
    }

    /// Whether what is stored is the winner's; nil: it is.
    private func findFault(of winner: Int, _ connection: RaceConnection) throws -> String? {
        let path: String
        switch kind {
        case .payloadNew, .payloadReplaced, .payloadOfGzip, .payloadExcluded: path = "/payload"
        case .partNew, .partReplaced: path = "/parts/sound"
        case .deletedOrReplaced where winner != 0: path = "/payload"
        case .recordNew, .recordReplaced, .recordPatched:
            try connection.send(HTTPClient.request("GET", target, [], nil))
            let text = String(decoding: try connection.answer().body, as: UTF8.self)
            return text.contains("\"message\":\"\(winner)\"") ? nil : "\(id): \(text)"
        case .deletedByRevision, .deletedByDigest, .deletedOrReplaced, .deletedUnnamed:
            try connection.send(HTTPClient.request("GET", target, [], nil))
            let status = try connection.answer().status
            return status == 404 ? nil : "\(id): deleted, and then \(status)"
        }
        try connection.send(HTTPClient.request("GET", target + path, [], nil))
        let answer = try connection.answer()
        return answer.body == Self.body(winner) ? nil : "\(id): \(answer.status), another's bytes"
    }

    /// The first contender always succeeds, and what it has stored is never what a DELETE named. It
    /// counts as the winner where it is still there.
    private func judgeUnnamed(_ statuses: [Int], _ connection: RaceConnection) throws -> Outcome {
        try connection.send(HTTPClient.request("GET", "\(target)/payload", [], nil))
        let isThere = try connection.answer().body == Self.body(0)
        var outcome = Outcome(winnerCount: isThere ? 1 : 0)
        if statuses[0] >= 300 { outcome.fault = "\(id): the PUT got \(statuses[0])" }
        return outcome
    }
}

/// A connection that sends requests and reads answers, and stays open.
private final class RaceConnection: Sendable {
    /// An answer.
    struct Answer {
        var status: Int
        var entityTag: String
        var body: [UInt8]
    }

    private let socket: RawSocket

    init(_ path: String) throws { socket = try RawSocket.connect(to: path) }

    func send(_ bytes: some Sequence<UInt8>) throws {
        var answers: [UInt8] = []
        let isOpen = try socket.sendAll(Array(bytes), answers: &answers)
        try require(isOpen && answers.isEmpty, "a connection ended, or answered too early")
    }

    /// Receives one answer, to its end and nothing behind it.
    func answer() throws -> Answer {
        var bytes: [UInt8] = []
        let isWhole = try socket.receive(into: &bytes) { Self.parse($0) != nil }
        guard isWhole, let answer = Self.parse(bytes) else { throw TestFailure("half an answer") }
        return answer
    }

    private static func parse(_ bytes: [UInt8]) -> Answer? {
        guard let head = HTTPHead(bytes.span.bytes),
            bytes.count >= head.byteCount + (head.length ?? 0)
        else { return nil }
        return Answer(
            status: head.status, entityTag: String(head.fields["etag"] ?? ""),
            body: Array(bytes[head.byteCount...]))
    }
}
